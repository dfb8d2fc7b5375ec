// The address is the state: awkward searches survive scripts, Back and a pasted link.
import type { Locator, Page } from '@playwright/test'
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
  await expect(page).toHaveURL(/\/confirm(\?|$)/)
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

test('Back and forward keep filters, cursor and scroll; a pasted link shows a colleague the same @no-js', async ({
  page,
  browser,
}) => {
  const keys = (of: Page) => of.locator('main tbody a.row-link').evaluateAll((links) => links.map((a) => a.getAttribute('href')))
  await signIn(page, 'operator@acme.test', '/operations?operation=invoice.charge&limit=20')
  await page.setViewportSize({ width: 1000, height: 400 })
  await page.locator('.pager a').last().click()
  await expect(page).toHaveURL(/cursor=/)
  const link = page.url()
  expect(link, 'the filter stays with the cursor').toContain('operation=invoice.charge')
  const rows = await keys(page)
  expect(rows.length).toBeGreaterThan(3)
  const row = page.locator('main tbody a.row-link').nth(rows.length - 1)
  await row.scrollIntoViewIfNeeded()
  const scrolled = await page.evaluate(() => window.scrollY)
  expect(scrolled, 'the last row is below the fold').toBeGreaterThan(0)
  await row.click()
  await expect(page).toHaveURL(/\/operations\/[0-9a-f-]{36}/)
  await page.goBack()
  await expect(page).toHaveURL(link)
  expect(await keys(page)).toEqual(rows)
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(scrolled)
  await page.goForward()
  await expect(page).toHaveURL(/\/operations\/[0-9a-f-]{36}/)

  const other = await browser.newContext({ javaScriptEnabled: test.info().project.name === 'js' })
  const colleague = await other.newPage()
  await signIn(colleague, 'approver@acme.test', link)
  await expect(colleague).toHaveURL(link)
  expect(await keys(colleague)).toEqual(rows)
  await other.close()
})

/** What the page that is open fetched of the built site, and how many bytes of that came over the wire. */
const site = (page: Page) =>
  page.evaluate(() => {
    const all = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
    const files = all.filter(({ name }) => /\/(pkg|fonts)\//.test(name))
    return { files: files.map(({ name }) => name), bytes: files.reduce((sum, file) => sum + file.transferSize, 0) }
  })

test('module, script and style are fetched once: later pages load data alone', async ({ page }) => {
  await page.goto('/sign-in')
  await alive(page)
  await signIn(page, 'viewer@acme.test', '/operations')
  await alive(page)
  for (const place of ['/outbox', '/operations?status=succeeded', '/help']) {
    await page.goto(place)
    await alive(page)
    const { files, bytes } = await site(page)
    for (const kind of ['.wasm', '.js', '.css']) {
      expect(files.filter((file) => file.endsWith(kind)), `${place} uses ${kind}`).not.toHaveLength(0)
    }
    expect(bytes, `${place} fetches none of it again`).toBe(0)
    for (const file of files.filter((file) => file.includes('/pkg/'))) {
      expect((await page.request.get(file)).headers()['cache-control']).toContain('immutable')
    }
  }
  // The same measure says so where a browser has nothing yet.
  const fresh = await page.context().browser()!.newContext()
  const first = await fresh.newPage()
  await first.goto(new URL('/sign-in', page.url()).href)
  await alive(first)
  expect((await site(first)).bytes).toBeGreaterThan(10_000)
  await fresh.close()
})
