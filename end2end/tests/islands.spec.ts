// What answers in the browser before the server does; every page says the same without it.
import { effectOf, unknownPayment } from './demo'
import { enter, expect, test } from './fixtures'

test('the decision’s button and difference follow what is typed', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'islands')
  await enter(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
  await expect(page.locator('.search-key'), 'the page is alive').toBeVisible()
  const submit = page.locator('main form button.button--primary')
  await expect(submit).toHaveText('Confirm the chosen outcome')
  await page.locator('input[name=outcome][value=not_happened_stop]').check()
  await expect(submit).toHaveText('Ask for a second person: it did not happen, stop')
  await page.locator('input[name=outcome][value=happened]').check()
  await expect(submit).toHaveText('Confirm: it happened')
  const difference = page.locator('.compare-difference dd').last()
  await page.locator('#amount_minor').fill('19200')
  await expect(difference).toHaveText('+63.00 EUR')
  await page.locator('#currency').fill('usd')
  await expect(difference).toHaveText('another currency')
  await page.locator('#currency').fill('EUR')
  await page.locator('#amount_minor').fill('12900')
  await expect(difference).toHaveText('none')
  await page.locator('#amount_minor').fill('129.00')
  await expect(difference).toHaveText('none')
  const effect = await effectOf(request, payment.invoice)
  await page.locator('input[name=external_reference]').fill(effect.id)
  await page.locator('input[name=reason]').fill('The amounts agree.')
  await submit.click()
  await expect(page).toHaveURL(/\/receipts\//)
})

test('a key is copied by a button that is only there when it works', async ({ page, request, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const payment = await unknownPayment(request, 'copy')
  await enter(page, 'viewer@acme.test', `/operations/${payment.id}`)
  const copies = async (name: RegExp, text: string) => {
    await page.locator('.detail-head, .detail-facts').getByRole('button', { name }).first().click()
    await expect(page.getByRole('button', { name: /^copied/ }).first()).toBeVisible()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text)
  }
  await copies(/^copy\s*the key$/, `charge ${payment.invoice}`)
  await copies(/^copy\s*link$/, page.url())
  await copies(/^copy\s*the id$/, payment.id)
})

test('without scripts nothing offers what it cannot do @no-js-only', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'plain')
  await enter(page, 'operator@acme.test', `/operations/${payment.id}`)
  await expect(page.getByRole('button', { name: /^copy/ })).toHaveCount(0)
  await expect(page.locator('.search-key')).toBeHidden()
  await page.goto(`/operations/${payment.id}/confirm`)
  await expect(page.locator('main form button.button--primary')).toHaveText('Confirm the chosen outcome')
  await expect(page.locator('.compare-follows')).toBeHidden()
})
