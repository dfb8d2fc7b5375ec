// Many rows at once, from the browser: picked, frozen, looked at, started once, each with its receipt.
import type { APIRequestContext, Page } from '@playwright/test'
import { fresh, operation, unknownPayment } from './demo'
import { alive, enter, expect, signIn, test } from './fixtures'
import { receipt, send, toForm } from './forms'
import { look } from './look'
import * as records from './records'

test('rows are picked, looked at before anything happens, and decided one by one @no-js', async ({
  page,
  request,
}, info) => {
  test.setTimeout(180_000)
  const name = `bulk${info.project.name.replace(/[^a-z]/g, '')}${Date.now().toString(36)}`
  const payments = [await unknownPayment(request, name), await unknownPayment(request, name)]
  await signIn(page, 'operator@acme.test', `/operations?q=E2E-${name}`)
  await alive(page)
  const boxes = page.getByRole('checkbox', { name: /^Pick / })
  await expect(boxes).toHaveCount(2)
  for (const box of await boxes.all()) await box.check()
  await page.getByRole('button', { name: 'Reconcile' }).click()

  await expect(page).toHaveURL(/\/bulks\/[0-9a-f-]{36}$/)
  const place = new URL(page.url()).pathname
  const shows = async (words: string) => {
    await expect
      .poll(
        async () => {
          await page.goto(place)
          return page.getByText(words).count()
        },
        { timeout: 30_000, message: words },
      )
      .toBeGreaterThan(0)
  }
  await shows('2 of 2 records can be decided. Nothing has been done yet.')
  for (const payment of payments) {
    expect((await operation(request, payment.id)).version, 'only looked at').toBe(payment.version)
  }
  await expect(page.getByText('It can be started until')).toBeVisible()
  await look(page, 'bulk-ready')
  await page.locator('main input[name=reason]').fill('The provider answers again.')
  await page.getByRole('button', { name: 'Reconcile 2 operations' }).click()
  await expect(page).toHaveURL(/\/receipts\//)
  await expect(page.getByText('Bulk started')).toBeVisible()

  await shows('Every record that could be was taken up again; whether an outcome was found stands on each record.')
  await look(page, 'bulk-over')
  await page.locator('main tbody a[href^="/receipts/"]').first().click()
  await expect(page.getByText('Reconciliation asked for')).toBeVisible()
  await page.getByRole('link', { name: 'A bulk of many records' }).click()
  await expect(page).toHaveURL(new RegExp(place))
})

test('all that match needs a filter, and a bulk verb is none of the grave ones @no-js', async ({ page }) => {
  await signIn(page, 'operator@acme.test', '/operations')
  await alive(page)
  await expect(page.getByText('all that match the filters')).toHaveCount(0)
  await expect(page.locator('#selection').getByRole('button', { name: /Confirm|Compensate|Correct/ })).toHaveCount(0)
  await page.goto('/operations?status=unknown')
  await expect(page.getByLabel('all that match the filters')).toBeVisible()
})

/** As many drafts as named of one beginning, at globex: its lists are nobody else’s in this run. */
async function drafts(request: APIRequestContext, count: number) {
  const name = fresh('BULK')
  const all: string[] = []
  while (all.length < count) {
    const some = Array.from({ length: Math.min(20, count - all.length) }, (_, n) => `${name}-${all.length + n}`)
    all.push(...(await Promise.all(some.map((key) => records.preview(request, key, 'globex')))).map(({ id }) => id))
  }
  return { name, all }
}

const atGlobex = (request: APIRequestContext, path: string) => records.read(request, path, 'operator@globex.test')

/** Freezes all that match a name, and waits until they are looked at; the bulk’s page. */
async function frozen(page: Page, request: APIRequestContext, name: string, verb: string): Promise<string> {
  await enter(page, 'operator@globex.test', `/operations?q=${name}`)
  await page.getByLabel('all that match the filters').check()
  await page.locator('#selection').getByRole('button', { name: verb }).click()
  await expect(page).toHaveURL(/\/bulks\/[0-9a-f-]{36}$/)
  const place = new URL(page.url()).pathname
  await records.until(() => atGlobex(request, place), ({ status }) => status === 'ready', 'it is ready')
  return place
}

test('a bulk is paused between two records, goes on, and ends by itself once nobody looks any more @no-js', async ({
  page,
  request,
}) => {
  test.setTimeout(180_000)
  const { name, all } = await drafts(request, 400)
  const place = await frozen(page, request, name, 'Cancel')
  const standing = () => atGlobex(request, place)
  await page.goto(place)
  await send(page, 'These letters are not written.')
  await receipt(page, 'Bulk started')
  await page.goto(`${place}/pause`)
  await send(page, 'Is it the right set?')
  await receipt(page, 'Bulk paused')
  const paused = await records.until(standing, ({ status }) => status === 'paused', 'it is paused')
  expect(paused.done, 'between its first and its last record').toBeLessThan(all.length)
  await toForm(page, place, 'resume')
  const meanwhile = (await standing()).done - paused.done
  expect(meanwhile, 'the record that was being decided, and no other').toBeLessThanOrEqual(1)
  await look(page, 'form-bulks-resume')
  await send(page, 'It is.')
  await receipt(page, 'Bulk resumed')
  // The browser is closed in the middle.
  await page.close()

  const over = await records.until(standing, ({ status }) => status === 'over', 'it is over')
  expect([over.total, over.done, over.refused]).toEqual([all.length, all.length, 0])
  const receipts = new Set<string>()
  for (let rows = await atGlobex(request, `${place}/rows?limit=100`); ; ) {
    for (const row of rows.items) receipts.add(row.receipt)
    if (!rows.next) break
    rows = await atGlobex(request, `${place}/rows?limit=100&cursor=${encodeURIComponent(rows.next)}`)
  }
  expect(receipts.size, 'each record has a receipt of its own').toBe(all.length)
})

test('a bulk that is given up does nothing, and its forms say what they do @no-js', async ({ page, request }) => {
  test.setTimeout(120_000)
  const { name, all } = await drafts(request, 1)
  const place = await frozen(page, request, name, 'Cancel')
  await page.goto(`${place}/run`)
  await look(page, 'form-bulks-run')
  await toForm(page, place, 'abandon')
  await look(page, 'form-bulks-abandon')
  await send(page, 'It was the wrong name.')
  await receipt(page, 'Bulk given up')
  expect((await atGlobex(request, place)).status).toBe('abandoned')
  expect((await atGlobex(request, `/operations/${all[0]}`)).status).toBe('reserved')
  // Its form stays, and says why it is over.
  await page.goto(`${place}/pause`)
  await expect(page.locator('main form button.button--primary')).toBeDisabled()
  await look(page, 'form-bulks-pause')
  await page.goto('/bulks')
  await expect(page.locator(`main a[href="${place}"]`)).toBeVisible()
  await look(page, 'bulks')
})
