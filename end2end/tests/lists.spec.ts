// What lists offer beside their rows: columns, views that people keep, files; and how the console looks.
import { newPerson, unknownPayment } from './demo'
import { expect, signIn, test } from './fixtures'

test('a view with its columns is kept, shown and thrown away', async ({ page, request }) => {
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

test('a list is a file', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'file')
  await signIn(page, 'viewer@acme.test', `/operations?q=${payment.invoice}`)
  const begun = page.waitForEvent('download')
  await page.locator('.list-tools').getByRole('link', { name: 'CSV' }).click()
  const download = await begun
  expect(download.suggestedFilename()).toMatch(/^operations-\d{4}-\d{2}-\d{2}\.csv$/)
  const chunks: Buffer[] = []
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
  const lines = Buffer.concat(chunks).toString('utf8').trim().split('\r\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain(payment.invoice)
})

test('times are shown in the chosen zone, by name', async ({ page }) => {
  await signIn(page, 'auditor@acme.test', '/me')
  await page.getByLabel('Time zone').selectOption('Asia/Kolkata')
  await page.getByLabel('Rows of lists').selectOption('comfortable')
  await page.getByRole('button', { name: 'Keep these' }).click()
  await page.goto('/audit')
  await expect(page.locator('html')).toHaveAttribute('data-density', 'comfortable')
  await expect(page.locator('tbody time').first()).toHaveText(/ IST$/)
  await page.getByRole('button', { name: 'Show UTC' }).click()
  await expect(page.locator('tbody time').first()).toHaveText(/ UTC$/)
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
