// What changes while a page is open: it says so, and moves nothing by itself.
import type { APIRequestContext, Page } from '@playwright/test'
import { demo, effectOf, type Payment, unknownPayment } from './demo'
import { alive, expect, signIn, test } from './fixtures'

const line = (page: Page) => page.locator('.live')

/** Reserves a charge; returns its id. */
async function reserve(request: APIRequestContext) {
  const invoice = `LIVE-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`
  const reserved = await request.post('/api/v1/operations', {
    headers: { authorization: `Bearer ${demo.service_tokens.acme}` },
    data: {
      operation: 'invoice.charge',
      key: `charge ${invoice}`,
      payload: { invoice_id: invoice, amount_minor: 100, currency: 'EUR' },
    },
  })
  expect(reserved.status()).toBe(201)
  return ((await reserved.json()) as { id: string }).id
}

/** Confirms by another person’s program that a payment happened. */
async function confirm(request: APIRequestContext, payment: Payment) {
  const effect = await effectOf(request, payment.invoice)
  const answer = await request.post(`/api/v1/operations/${payment.id}/actions/confirm`, {
    headers: { authorization: `Bearer ${demo.staff_tokens['operator@acme.test']}` },
    data: {
      version: payment.version,
      outcome: 'happened',
      external_reference: effect.id,
      reason: 'The provider shows it.',
      evidence: 'its page',
    },
  })
  expect(answer.status()).toBe(200)
}

/** Opens a page and waits for its stream. */
async function open(page: Page, email: string, place: string) {
  const stream = page.waitForResponse((response) => response.url().includes('/live?') && response.ok())
  await signIn(page, email, place)
  await stream
}

test('of two browsers on one operation the second sees within two seconds that the first acted', async ({
  page,
  request,
  browser,
}) => {
  const payment = await unknownPayment(request, 'live')
  await open(page, 'viewer@acme.test', `/operations/${payment.id}`)
  await expect(line(page)).toContainText('Refresh')
  const context = await browser.newContext()
  const second = await context.newPage()
  await open(second, 'operator@acme.test', `/operations/${payment.id}/confirm?version=${payment.version}`)
  await confirm(request, payment)
  for (const seen of [page, second]) {
    await expect(line(seen)).toContainText('This page is older than the state', { timeout: 2_000 })
  }
  // The form that was open is refused with what changed.
  await second.locator('input[name=outcome][value=not_happened_stop]').check()
  await second.locator('input[name=reason]').fill('It is not on their page.')
  await second.locator('main form button.button--primary').click()
  await expect(second.getByRole('alert')).toHaveAttribute('data-code', /stale|decided_otherwise/)
  await context.close()
  await line(page).getByRole('link').click()
  await expect(page.locator('.detail-head')).toContainText('Succeeded', { ignoreCase: true })
  await expect(line(page)).toContainText('Refresh')
})

test('a row that changed is marked where it stands, and new rows are a bar to click', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'row')
  await open(page, 'viewer@acme.test', '/operations')
  const rows = page.locator('tr[data-record]')
  const before = await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-record')))
  expect(before).toContain(`operation/${payment.id}`)
  const place = await rows.first().boundingBox()
  await confirm(request, payment)
  const id = await reserve(request)
  await expect(page.locator(`tr[data-record="operation/${payment.id}"]`)).toHaveAttribute('data-changed', '')
  await expect(line(page)).toContainText(/\d+ new rows?, .*changed/)
  expect(await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-record')))).toEqual(before)
  expect(await rows.first().boundingBox(), 'nothing moved').toEqual(place)
  await line(page).getByRole('link').click()
  await expect(page.locator(`tr[data-record="operation/${id}"]`)).toBeVisible()
})

test('nothing is said while rows are selected', async ({ page, request, context }) => {
  await open(page, 'viewer@acme.test', '/operations')
  const other = await context.newPage()
  const stream = other.waitForResponse((response) => response.url().includes('/live?') && response.ok())
  await other.goto('/operations')
  await stream
  await page.evaluate(() => {
    const box = Object.assign(document.createElement('input'), { type: 'checkbox', id: 'picked', checked: true })
    box.setAttribute('form', 'selection')
    document.querySelector('main')!.append(box)
  })
  const silent = await line(page).textContent()
  await reserve(request)
  await expect(line(other)).toContainText(/new row/)
  expect(await line(page).textContent()).toBe(silent)
  await page.locator('#picked').uncheck()
  await expect(line(page)).toContainText(/new row/)
})

test('a page that nobody sees closes its stream, and says later what it missed', async ({ page, request }) => {
  await open(page, 'viewer@acme.test', '/operations')
  const show = (hidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    }, hidden)
  const closed = page.waitForEvent('requestfailed', (sent) => sent.url().includes('/live?'))
  await show(true)
  await closed
  await reserve(request)
  await show(false)
  await expect(line(page)).toContainText(/new row/)
})

test('without scripts the page says since when it is right, and a link reads it again @no-js', async ({ page }) => {
  await signIn(page, 'viewer@acme.test', '/operations?status=succeeded')
  await alive(page)
  await line(page).getByRole('link', { name: /Refresh|Read again/ }).click()
  await expect(page).toHaveURL(/\/operations\?status=succeeded/)
})
