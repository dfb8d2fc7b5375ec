// What lists offer beside their rows: columns, views that people keep, files; and how the console looks.
import { unknownPayment } from './demo'
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
