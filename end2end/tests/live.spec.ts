// What changes while a page is open: it says so, and moves nothing by itself.
import type { APIRequestContext, Page } from '@playwright/test'
import { demo, effectOf, operation, type Payment, unknownPayment } from './demo'
import { alive, elsewhere, expect, signIn, test } from './fixtures'
import { itHappened, receipt, send } from './forms'

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

const streamOf = (page: Page) =>
  page.waitForResponse((response) => response.url().includes('/live?') && response.ok())

/** Opens a page and waits for its stream. */
async function open(page: Page, email: string, place: string) {
  const stream = streamOf(page)
  await signIn(page, email, place)
  await stream
}

test('of two browsers on one operation the second sees within two seconds what the first did, and its own form is refused with what changed', async ({
  page,
  request,
  browser,
}) => {
  const payment = await unknownPayment(request, 'live')
  const place = `/operations/${payment.id}`
  await elsewhere(browser, 'approver@acme.test', `${place}/confirm?version=${payment.version}`, async (first) => {
    await open(page, 'operator@acme.test', `${place}/reconcile?version=${payment.version}`)
    await expect(line(page)).toContainText('Refresh')
    await itHappened(first, request, payment.invoice)
    await send(first, 'The provider’s page shows it.')
    await receipt(first, 'Confirmed: it happened')
    await expect(line(page)).toContainText('This page is older than the state', { timeout: 2_000 })
  })
  await send(page, 'They say that it is found now.')
  const refused = page.locator('[data-code=stale]')
  await expect(refused).toBeFocused()
  await expect(refused).toContainText(`Your page showed version ${payment.version}`)
  await expect(refused.locator('li'), 'who did what since').toContainText([/Ada Approver|approver@acme\.test/])
  await expect(page.locator('input[name=reason]')).toHaveValue('They say that it is found now.')
  expect((await operation(request, payment.id)).status).toBe('succeeded')
  await page.goto(place)
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

test('nothing is said while rows are picked, or all that match are meant', async ({ page, request, context }) => {
  const place = '/operations?status=reserved'
  await open(page, 'operator@acme.test', place)
  const other = await context.newPage()
  const stream = streamOf(other)
  await other.goto(place)
  await stream
  for (const box of [page.getByRole('checkbox', { name: /^Pick / }).first(), page.getByLabel('all that match the filters')]) {
    await box.check()
    const silent = await line(page).textContent()
    const told = await line(other).textContent()
    await reserve(request)
    await expect(line(other)).not.toHaveText(told!)
    expect(await line(page).textContent()).toBe(silent)
    await expect(box, 'what was picked is still picked').toBeChecked()
    await box.uncheck()
    await expect(line(page), 'counted meanwhile, and said now').not.toHaveText(silent!)
  }
})

test.describe('where there is no stream left', () => {
  // What the browser itself writes about the answer; nothing of ours may stand beside it.
  test.use({ tolerated: [/status of 503/] })

  test('the page is as it is without scripts: since when it is right, and a link to read it again', async ({
    page,
    request,
    context,
  }) => {
    await signIn(page, 'viewer@acme.test', '/help')
    // A session has four.
    for (let held = 0; held < 4; held += 1) {
      const other = await context.newPage()
      const stream = streamOf(other)
      await other.goto('/outbox')
      await stream
    }
    const refused = page.waitForResponse((response) => response.url().includes('/live?'))
    await page.goto('/operations')
    expect((await refused).status()).toBe(503)
    const id = await reserve(request)
    await expect(line(page)).toContainText('Refresh')
    await expect(line(page)).not.toHaveAttribute('data-news', '')
    await line(page).getByRole('link').click()
    await expect(page.locator(`tr[data-record="operation/${id}"]`)).toBeVisible()
  })
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
