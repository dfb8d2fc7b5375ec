// Many rows at once, from the browser: picked, frozen, looked at, started once, each with its receipt.
import { operation, unknownPayment } from './demo'
import { alive, expect, signIn, test } from './fixtures'
import { look } from './look'

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
