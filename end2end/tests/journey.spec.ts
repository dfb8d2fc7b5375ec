// One ambiguous payment, the whole way, from the browser: with JavaScript and without.
import { demo, effectOf, operation, unknownPayment } from './demo'
import { alive, enter, expect, test } from './fixtures'

test('an unknown payment is found, read, confirmed once, and its receipt is the same again @no-js', async ({
  page,
  request,
}, info) => {
  const payment = await unknownPayment(request, info.project.name)
  await enter(page, 'operator@acme.test')

  await page.getByRole('searchbox').fill(payment.invoice)
  await page.getByRole('searchbox').press('Enter')
  await expect(page).toHaveURL(/\/search\?/)
  await page.locator(`main a[href="/operations/${payment.id}"]`).first().click()

  await expect(page).toHaveURL(new RegExp(`/operations/${payment.id}$`))
  await expect(page.getByText('Not safe to retry')).toBeVisible()
  await expect(page.getByText('offers no lookup').first()).toBeVisible()
  // What the kind says of its provider and what the provider said of this effect agree.
  await expect(page.getByText('yes, but not about this effect')).toBeVisible()
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
  test('a second person who decides otherwise is told, and nothing changes @no-js', async ({ page, request }, info) => {
    const payment = await unknownPayment(request, `other-${info.project.name}`)
    await enter(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
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
    await expect(page.locator('[data-code=decided_otherwise]')).toBeFocused()
    await expect(page.getByText('Read its receipt')).toBeVisible()
    await expect(page.locator('input[name=reason]')).toHaveValue('I believe it was another charge.')
    await expect(page.locator('input[name=outcome]:checked')).toHaveCount(0)
    expect((await operation(request, payment.id)).external_reference).toBe(effect.id)
  })

  test('what is missing is named, and what was typed comes back @no-js', async ({ page, request }, info) => {
    const payment = await unknownPayment(request, `missing-${info.project.name}`)
    await enter(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
    await alive(page)
    await page.locator('input[name=reason]').fill('Seen with + & % and é 😀')
    await page.getByRole('button', { name: /^Confirm/ }).click()
    await expect(page.locator('[data-code=unprocessable]')).toBeFocused()
    await expect(page.locator('input[name=reason]')).toHaveValue('Seen with + & % and é 😀')
    await expect(page.locator('input[name=outcome]:checked')).toHaveCount(0)
    expect((await operation(request, payment.id)).version).toBe(payment.version)
  })

  test('a form of an older page is told what changed, and carries the new version @no-js', async ({
    page,
    request,
  }, info) => {
    const payment = await unknownPayment(request, `stale-${info.project.name}`)
    await enter(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
    await alive(page)
    const asked = await request.post(`/api/v1/operations/${payment.id}/actions/reconcile`, {
      headers: { authorization: `Bearer ${demo.staff_tokens['approver@acme.test']}` },
      data: { version: payment.version, reason: 'They say it is found now.' },
    })
    expect(asked.status()).toBe(200)
    await page.locator('input[name=outcome][value=happened]').check()
    await page.locator('input[name=external_reference]').fill('ch_seen')
    await page.locator('input[name=reason]').fill('Seen before it was asked again.')
    await page.locator('[name=evidence]').fill('https://payments.example/list')
    await page.getByRole('button', { name: /^Confirm/ }).click()
    const refused = page.locator('[data-code=stale]')
    await expect(refused).toBeFocused()
    await expect(refused.getByText(`Your page showed version ${payment.version}`)).toBeVisible()
    await expect(refused.locator('li').first()).toBeVisible()
    await expect(page.locator('input[name=external_reference]')).toHaveValue('ch_seen')
    await expect(page.locator('input[name=reason]')).toHaveValue('Seen before it was asked again.')
    await expect(page.locator('input[name=evidence_kept]')).toHaveValue('https://payments.example/list')
    const shown = Number(await page.locator('main input[name=version]').inputValue())
    expect(shown).toBeGreaterThan(payment.version)
  })

  test('a refused note is explained where it is read first, and comes back @no-js', async ({ page, request }, info) => {
    const payment = await unknownPayment(request, `note-${info.project.name}`)
    await enter(page, 'operator@acme.test', `/operations/${payment.id}`)
    await alive(page)
    await page.getByRole('button', { name: 'Add the note' }).click()
    await expect(page.locator('#refused')).toBeFocused()
    await expect(page.locator('#refused [data-code=unprocessable]')).toBeVisible()
    await page.locator('textarea[name=text]').fill('I rang them.')
    await page.getByRole('button', { name: 'Add the note' }).click()
    await expect(page.locator('main li').filter({ hasText: 'I rang them.' }).first()).toBeVisible()
    await expect(page.locator('textarea[name=text]')).toHaveValue('')
    await expect(page).toHaveURL(new RegExp(`/operations/${payment.id}#notes$`))
  })
})

test('what is missing of the evidence is said until it is written @no-js', async ({ page, request }, info) => {
  const payment = await unknownPayment(request, `evidence-${info.project.name}`)
  await enter(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
  const missing = page.locator('[data-missing=evidence]')
  await expect(missing).toBeVisible()
  await page.locator('textarea[name=evidence]').fill('Ticket 7')
  await expect(missing).toBeHidden()
  await page.getByRole('button', { name: /^Confirm/ }).click()
  await expect(page.locator('[data-code=unprocessable]')).toBeFocused()
  const unticked = page.locator('[data-unticked=evidence]')
  await expect(unticked).toBeHidden()
  await page.locator('input[name=evidence_kept]').uncheck()
  await expect(unticked).toBeVisible()
})

test('a viewer sees what may not be done and which right is missing, and who holds it @no-js', async ({ page, request }, info) => {
  const payment = await unknownPayment(request, `viewer-${info.project.name}`)
  await enter(page, 'viewer@acme.test', `/operations/${payment.id}`)
  await expect(page.getByText('confirm unknown outcomes. Held by: ').first()).toBeVisible()
})
