// An incident from the page of a payment to its report, with JavaScript and without.
import { unknownPayment } from './demo'
import { alive, enter, expect, test } from './fixtures'
import { look } from './look'

test('a payment is gathered into an incident, noted, and taken away as a report @no-js', async ({
  page,
  request,
}, info) => {
  test.setTimeout(120_000)
  const payment = await unknownPayment(request, `incident-${info.project.name}`)
  const title = `No answer for ${payment.invoice}`
  await enter(page, 'operator@acme.test', `/operations/${payment.id}`)
  await page.getByRole('link', { name: 'Add to an incident' }).click()
  await expect(page).toHaveURL(/\/incidents\/gather\?record=operation\//)
  await expect(page.locator('input[name=incident]:checked')).toHaveCount(0)
  await look(page, 'incident-gather')
  await alive(page)

  await page.locator('input[name=reason]').fill('The provider was down at that time.')
  await page.getByRole('button', { name: 'Gather the records' }).click()
  await expect(page.locator('[data-code=unprocessable]')).toBeFocused()
  await expect(page.locator('input[name=reason]')).toHaveValue('The provider was down at that time.')

  await page.locator('input[name=incident][value=new]').check()
  await page.locator('input[name=summary]').fill(title)
  await page.getByRole('button', { name: /^(Gather the records|Open the incident with these records)$/ }).click()
  await expect(page).toHaveURL(/\/receipts\//)
  await page.getByRole('link', { name: 'Open the incident' }).click()
  await expect(page.getByText(title).first()).toBeVisible()
  await expect(page.locator('.timeline')).toContainText('A person opened the incident.')
  await expect(page.locator(`.timeline a[href="/operations/${payment.id}"]`).first()).toBeVisible()
  await alive(page)

  await page.locator('textarea[name=text]').fill('Rang the provider: they look into it.')
  await page.getByRole('button', { name: 'Add the note' }).click()
  await expect(page.locator('.timeline')).toContainText('Rang the provider')

  const path = new URL(page.url()).pathname
  await page.getByRole('link', { name: 'Read and print' }).click()
  await expect(page).toHaveURL(new RegExp(`${path}/report$`))
  await look(page, 'incident-report')
  const seal = await page.locator('.report-seal code').textContent()
  expect(seal).toMatch(/^sha256:[0-9a-f]{64}$/)
  for (const [format, type] of [
    ['md', 'text/markdown'],
    ['json', 'application/json'],
    ['csv', 'text/csv'],
  ]) {
    const file = await page.request.get(`${path}/report?format=${format}`)
    expect(file.headers()['content-type']).toContain(type)
    expect(file.headers()['content-disposition']).toContain(`.${format}"`)
    expect(await file.text(), 'the same content, the same hash').toContain(seal)
  }
})
