// One ambiguous payment, the whole way, from the browser: with JavaScript and without.
import { demo, effectOf, operation, unknownPayment } from './demo'
import { alive, expect, signIn, test } from './fixtures'

test('an unknown payment is found, read, confirmed once, and its receipt is the same again @no-js', async ({
  page,
  request,
}, info) => {
  const payment = await unknownPayment(request, info.project.name)
  await signIn(page, 'operator@acme.test')

  await page.getByRole('searchbox').fill(payment.invoice)
  await page.getByRole('searchbox').press('Enter')
  await expect(page).toHaveURL(/\/operations\?/)
  await page.locator(`main a[href="/operations/${payment.id}"]`).first().click()

  await expect(page).toHaveURL(new RegExp(`/operations/${payment.id}$`))
  await expect(page.getByText('Not safe to retry')).toBeVisible()
  await expect(page.getByText('offers no lookup').first()).toBeVisible()
  await alive(page)

  await page.locator(`a[href^="/operations/${payment.id}/confirm"]`).first().click()
  await expect(page.locator('input[name=outcome]:checked')).toHaveCount(0)
  await alive(page)
  const effect = await effectOf(request, payment.invoice)
  const decide = async () => {
    await page.locator('input[name=outcome][value=happened]').check()
    await page.locator('input[name=external_reference]').fill(effect.id)
    await page.locator('input[name=reason]').fill('The provider’s own list shows the charge.')
    await page.locator('[name=evidence]').fill('https://payments.example/list')
    await page.getByRole('button', { name: /^Confirm/ }).click()
    await expect(page).toHaveURL(/\/receipts\//)
  }
  await decide()
  const receipt = new URL(page.url()).pathname
  await expect(page.getByText(effect.id).first()).toBeVisible()
  await expect(page.getByText('operator@acme.test').first()).toBeVisible()

  await page.goBack()
  await alive(page)
  await decide()
  expect(new URL(page.url()).pathname, 'sent again, the same receipt').toBe(receipt)
  await expect(page.getByText(/already decided|the same receipt/i).first()).toBeVisible()

  const after = await operation(request, payment.id)
  expect(after.status).toBe('succeeded')
  expect(after.external_reference).toBe(effect.id)
  expect((await effectOf(request, payment.invoice)).id, 'still the one charge').toBe(effect.id)
  const decisions = after.audit.filter((row: { action: string }) => row.action === 'confirm')
  expect(decisions, 'one decision on the record, none for the repeat').toHaveLength(1)
})

test.describe('refusals', () => {
  // A refusal answers with its own status, which Chromium reports.
  test.use({ tolerated: [/status of (409|422)/] })

  test('a second person who decides otherwise is told, and nothing changes @no-js', async ({ page, request }, info) => {
    const payment = await unknownPayment(request, `other-${info.project.name}`)
    await signIn(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
    await alive(page)
    const effect = await effectOf(request, payment.invoice)
    const confirmed = await request.post(`/api/v1/operations/${payment.id}/actions/confirm`, {
      headers: { authorization: `Bearer ${demo.staff_tokens['approver@acme.test']}` },
      data: {
        version: payment.version,
        outcome: 'happened',
        external_reference: effect.id,
        reason: 'I rang the provider.',
      },
    })
    expect(confirmed.status()).toBe(200)
    await page.locator('input[name=outcome][value=happened]').check()
    await page.locator('input[name=external_reference]').fill('ch_another')
    await page.locator('input[name=reason]').fill('I believe it was another charge.')
    await page.getByRole('button', { name: /^Confirm/ }).click()
    await expect(page.locator('[data-code=decided_otherwise]')).toBeVisible()
    expect((await operation(request, payment.id)).external_reference).toBe(effect.id)
  })

  test('what is missing is named, and what was typed comes back @no-js', async ({ page, request }, info) => {
    const payment = await unknownPayment(request, `missing-${info.project.name}`)
    await signIn(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
    await alive(page)
    await page.locator('input[name=reason]').fill('Seen with + & % and é 😀')
    await page.getByRole('button', { name: /^Confirm/ }).click()
    await expect(page.locator('[data-code=unprocessable]')).toBeVisible()
    await expect(page.locator('input[name=reason]')).toHaveValue('Seen with + & % and é 😀')
    await expect(page.locator('input[name=outcome]:checked')).toHaveCount(0)
    expect((await operation(request, payment.id)).version).toBe(payment.version)
  })
})

test('a viewer sees what may not be done and which right is missing @no-js', async ({ page, request }, info) => {
  const payment = await unknownPayment(request, `viewer-${info.project.name}`)
  await signIn(page, 'viewer@acme.test', `/operations/${payment.id}`)
  await expect(page.getByText('confirm unknown outcomes').first()).toBeVisible()
})
