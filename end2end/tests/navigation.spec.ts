// The address is the state: awkward searches survive scripts, Back and a pasted link.
import type { Locator } from '@playwright/test'
import { demo, effectOf, operation, unknownPayment } from './demo'
import { alive, expect, signIn, test } from './fixtures'

const awkward = '/ % + & : @ ( ) é 😀 "\'<b>'

test('an awkward key is found by the search box, and Back keeps it @no-js', async ({ page, request }, info) => {
  const key = `${awkward} ${info.project.name} ${Date.now()}`
  const reserved = await request.post('/api/v1/operations', {
    headers: { authorization: `Bearer ${demo.service_tokens.acme}` },
    data: {
      operation: 'invoice.charge',
      key,
      payload: { invoice_id: `NAV-${Date.now()}`, amount_minor: 100, currency: 'EUR' },
    },
  })
  expect(reserved.status()).toBe(201)
  const { id } = (await reserved.json()) as { id: string }
  await signIn(page, 'viewer@acme.test', '/operations')
  await alive(page)
  await page.getByRole('searchbox').fill(key)
  await page.getByRole('searchbox').press('Enter')
  const row = page.locator(`main a[href="/operations/${id}"]`).first()
  await expect(row).toBeVisible()
  await alive(page)
  const link = page.url()
  await row.click()
  await expect(page).toHaveURL(new RegExp(id))
  await page.goBack()
  await expect(page.locator(`main a[href="/operations/${id}"]`).first()).toBeVisible()
  await expect(page.getByRole('searchbox')).toHaveValue(key)
  await page.goto(link)
  await expect(page.locator(`main a[href="/operations/${id}"]`).first()).toBeVisible()
})

test('after signing out, Back shows the sign-in page', async ({ page }) => {
  await signIn(page, 'viewer@acme.test', '/operations')
  await alive(page)
  await page.getByRole('button', { name: /Sign out/ }).first().click()
  await expect(page).toHaveURL(/\/sign-in/)
  await page.goBack()
  await expect(page).toHaveURL(/\/sign-in/)
})

test('the whole confirm journey works by keyboard alone', async ({ page, request }) => {
  test.setTimeout(90_000)
  const payment = await unknownPayment(request, 'keys')
  const effect = await effectOf(request, payment.invoice)
  const press = (key: string) => page.keyboard.press(key)
  /** Goes on with Tab until it stands on the element. */
  const reach = async (what: Locator) => {
    const there = () => what.evaluate((node) => node === document.activeElement)
    for (let presses = 0; presses < 80 && !(await there()); presses++) await press('Tab')
    expect(await there(), `${what} can be reached by Tab`).toBe(true)
  }
  await signIn(page, 'operator@acme.test')
  await alive(page)
  await expect(page.locator('.search-key'), 'the key is offered once it works').toBeVisible()
  await press('/')
  await page.keyboard.type(payment.invoice)
  await press('Enter')
  await expect(page).toHaveURL(new RegExp(`q=${payment.invoice}`))
  await alive(page)
  await reach(page.locator(`main a[href="/operations/${payment.id}"]`).first())
  await press('Enter')
  await expect(page).toHaveURL(new RegExp(`/operations/${payment.id}$`))
  await alive(page)
  await reach(page.locator(`main a[href^="/operations/${payment.id}/confirm"]`).first())
  await press('Enter')
  await expect(page).toHaveURL(/\/confirm$/)
  await alive(page)
  // A group of radio buttons is one stop; nothing is chosen until a key chooses.
  await reach(page.locator('input[name=outcome]').first())
  await press('Space')
  await expect(page.locator('input[name=outcome][value=happened]')).toBeChecked()
  await reach(page.locator('input[name=external_reference]'))
  await page.keyboard.type(effect.id)
  await reach(page.locator('textarea[name=evidence]'))
  await page.keyboard.type('The provider’s list, line 1')
  await reach(page.locator('input[name=reason]'))
  await page.keyboard.type('Found in the provider’s list.')
  await reach(page.locator('main button[type=submit]').last())
  await press('Enter')
  await expect(page).toHaveURL(/\/receipts\//)
  expect((await operation(request, payment.id)).status).toBe('succeeded')
})
