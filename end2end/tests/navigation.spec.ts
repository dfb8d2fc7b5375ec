// The address is the state: awkward searches survive scripts, Back and a pasted link.
import { demo } from './demo'
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

test('the confirm journey works by keyboard alone', async ({ page }) => {
  await signIn(page, 'operator@acme.test')
  await alive(page)
  await expect(page.locator('.search-key'), 'the key is offered once it works').toBeVisible()
  await page.keyboard.press('/')
  await page.keyboard.type('INV-2026-0042')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/q=INV-2026-0042/)
  await alive(page)
  const link = page.locator('main a[href^="/operations/"]').first()
  for (let presses = 0; presses < 60 && !(await link.evaluate((node) => node === document.activeElement)); presses++) {
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/operations\/[0-9a-f-]{36}/)
})
