// What lists offer beside their rows: columns, views that people keep, files; and how the console looks.
import type { Page } from '@playwright/test'
import { newPerson, unknownPayment } from './demo'
import { expect, signIn, test } from './fixtures'

test('a view with its columns is kept, shown and thrown away @no-js', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'view')
  await signIn(page, 'operator@acme.test', `/operations?q=${payment.invoice}`)
  await page.locator('.list-tools summary', { hasText: 'Columns' }).click()
  await page.locator('.tool-boxes').getByLabel('Lease').uncheck()
  await page.getByRole('button', { name: 'Show these' }).click()
  await expect(page).toHaveURL(/columns=/)
  await expect(page.getByRole('columnheader', { name: 'Lease' })).toHaveCount(0)
  await expect(page.getByRole('columnheader', { name: 'Key' })).toBeVisible()

  const name = `Kept ${payment.invoice}`
  await page.locator('.list-tools summary', { hasText: 'Views' }).click()
  await page.getByLabel('Keep this view as').fill(name)
  await page.getByRole('button', { name: 'Keep the view' }).click()
  const tab = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name })
  await expect(tab).toHaveAttribute('aria-current', 'page')
  await page.goto('/operations')
  await tab.click()
  await expect(page).toHaveURL(new RegExp(`q=${payment.invoice}`))
  await expect(page.getByRole('columnheader', { name: 'Lease' })).toHaveCount(0)

  await page.locator('.list-tools summary', { hasText: 'Views' }).click()
  const own = page.locator('.tool-views li', { has: page.getByLabel(`Name of the view ${name}`) })
  await own.getByRole('button', { name: 'Delete the view' }).click()
  await expect(tab).toHaveCount(0)
})

/** The file that a list offers: its name, and what it holds. */
async function file(page: Page, format: string) {
  const begun = page.waitForEvent('download')
  await page.locator('.list-tools').getByRole('link', { name: format }).click()
  const download = await begun
  const chunks: Buffer[] = []
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
  return { name: download.suggestedFilename(), text: Buffer.concat(chunks).toString('utf8') }
}

test('a list is a file @no-js', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'file')
  await signIn(page, 'viewer@acme.test', `/operations?q=${payment.invoice}`)
  const csv = await file(page, 'CSV')
  expect(csv.name).toMatch(/^operations-\d{4}-\d{2}-\d{2}\.csv$/)
  const lines = csv.text.trim().split('\r\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain(payment.invoice)
  const json = await file(page, 'JSON')
  expect(json.name).toMatch(/^operations-\d{4}-\d{2}-\d{2}\.json$/)
  const { list, items } = JSON.parse(json.text) as { list: string; items: { id: string }[] }
  expect(list).toBe('operations')
  expect(items.map(({ id }) => id), 'what the page shows, and no more').toEqual([payment.id])
})

test('where there is little room the filters open, narrow the list, and go one by one @no-js', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'filter')
  await page.setViewportSize({ width: 600, height: 800 })
  await signIn(page, 'viewer@acme.test', '/operations')
  const filters = page.getByRole('form', { name: 'Filters' })
  await expect(filters).toBeHidden()
  await page.getByRole('button', { name: 'Filters' }).click()
  await expect(filters).toBeVisible()
  await filters.getByLabel('State').selectOption('unknown')
  await filters.getByLabel('Search').fill(payment.invoice)
  await filters.getByLabel('needs a person').check()
  await filters.getByRole('button', { name: 'Apply' }).click()
  for (const part of ['status=unknown', `q=${payment.invoice}`, 'needs_manual=true']) {
    await expect(page).toHaveURL(new RegExp(`[?&]${part}(&|$)`))
  }
  const rows = page.locator('tr[data-record]')
  await expect(rows).toHaveCount(1)
  await expect(rows).toHaveAttribute('data-record', `operation/${payment.id}`)

  const chips = page.getByRole('list', { name: 'Filters in force' }).getByRole('link', { name: /^Remove filter/ })
  await expect(chips).toHaveCount(3)
  await chips.filter({ hasText: 'state' }).click()
  await expect(page).not.toHaveURL(/status=/)
  await expect(chips).toHaveCount(2)
  await expect(rows, 'the others hold').toHaveCount(1)
  await chips.filter({ hasText: payment.invoice }).click()
  await expect(page).not.toHaveURL(/[?&]q=/)
  await expect(page).toHaveURL(/needs_manual=true/)
  await expect(chips).toHaveCount(1)
})

test('times are shown in the chosen zone, by name @no-js', async ({ page }) => {
  const { email } = newPerson('zone', { acme: 'auditor' })
  await signIn(page, email, '/me')
  await page.getByLabel('Time zone').selectOption('Asia/Kolkata')
  await page.getByLabel('Rows of lists').selectOption('comfortable')
  await page.getByRole('button', { name: 'Keep these' }).click()
  await page.goto('/audit')
  await expect(page.locator('html')).toHaveAttribute('data-density', 'comfortable')
  await expect(page.locator('tbody time').first()).toHaveText(/ IST$/)
  await page.getByRole('button', { name: 'Show UTC' }).click()
  await expect(page.locator('tbody time').first()).toHaveText(/ UTC$/)
})

test('whoever is not signed in chooses how the console looks, and finds it so afterwards @no-js', async ({ page }) => {
  await page.goto('/sign-in?next=%2Foperations')
  await page.getByText('Time zone, theme, density, rows').click()
  await page.getByLabel('Time zone').selectOption('Asia/Kolkata')
  await page.getByLabel('Rows of lists').selectOption('comfortable')
  await page.getByRole('button', { name: 'Keep these' }).click()
  await expect(page).toHaveURL(/\/sign-in\?next=%2Foperations$/)
  await expect(page.locator('html')).toHaveAttribute('data-density', 'comfortable')
  const { email } = newPerson('before', { acme: 'viewer' })
  await signIn(page, email, '/operations')
  await expect(page.locator('html')).toHaveAttribute('data-density', 'comfortable')
  await expect(page.getByText('Times in Asia/Kolkata')).toBeAttached()
})

test.describe('in Tokyo', () => {
  test.use({ timezoneId: 'Asia/Tokyo' })

  test('times are those of the browser once somebody asks for them, by the name of its zone', async ({ page, request }) => {
    const payment = await unknownPayment(request, 'tokyo')
    const { email } = newPerson('tokyo', { acme: 'viewer' })
    const instant = page.locator('.detail-sub time').first()
    await signIn(page, email, `/operations/${payment.id}`)
    await expect(instant).toHaveText(/ UTC$/)
    const at = Date.parse((await instant.getAttribute('datetime'))!)
    await page.getByRole('button', { name: 'Show local times' }).click()
    await expect(instant).toHaveText(/ JST$/)
    const shown = (await instant.textContent())!
    const later = Date.parse((await instant.getAttribute('datetime'))!)
    expect(later, 'another instant of the same clock').toBeGreaterThanOrEqual(at)
    const hour = new Date(later + 9 * 3_600_000).toISOString().slice(11, 16)
    expect(shown, 'nine hours ahead of UTC').toContain(hour)
    await page.goto('/me')
    await expect(page.getByLabel('Time zone')).toHaveValue('local')
  })
})
