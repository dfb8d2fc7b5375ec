// Masked fields, evidence as a file and a kind’s policy, from the browser: with JavaScript and without.
import { demo, effectOf, unknownPayment } from './demo'
import { alive, enter, expect, test } from './fixtures'
import { look } from './look'

test('a masked field is revealed with a reason, to whoever asked and for a while @no-js', async ({
  page,
  request,
}, info) => {
  const customer = `CUS-${info.project.name}-${Date.now().toString(36)}`
  const reserved = await request.post('/api/v1/operations', {
    headers: { authorization: `Bearer ${demo.service_tokens.acme}` },
    data: {
      operation: 'invoice.charge',
      key: `charge ${customer}`,
      payload: { invoice_id: customer, amount_minor: 100, currency: 'EUR', customer_id: `secret ${customer}` },
    },
  })
  expect(reserved.status()).toBe(201)
  const { id } = (await reserved.json()) as { id: string }
  await enter(page, 'approver@acme.test', `/operations/${id}`)
  await expect(page.getByText('1 field masked').first()).toBeVisible()
  await expect(page.getByText(`secret ${customer}`)).toHaveCount(0)
  await page.getByRole('link', { name: 'Reveal the masked fields' }).click()
  await alive(page)
  await expect(page.getByText('payload/customer_id')).toBeVisible()
  await look(page, 'reveal-form')
  await page.getByRole('button', { name: /^Reveal/ }).click()
  await expect(page.locator('[data-code=unprocessable]')).toBeFocused()
  await page.getByLabel('Reason').fill('The customer asks what we know.')
  await page.getByRole('button', { name: /^Reveal/ }).click()
  await expect(page).toHaveURL(/\/reveals\/[0-9a-f-]+$/)
  await expect(page.getByText(`secret ${customer}`).first()).toBeVisible()
  await look(page, 'revealed')
  await page.goto(`/operations/${id}`)
  await expect(page.getByText(`secret ${customer}`)).toHaveCount(0)
  await expect(page.getByText('The customer asks what we know.').first()).toBeVisible()
})

test('a file is attached, the form comes back as it was, and the receipt has it @no-js', async ({
  page,
  request,
}, info) => {
  const payment = await unknownPayment(request, `file-${info.project.name}`)
  await enter(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
  await alive(page)
  const effect = await effectOf(request, payment.invoice)
  await page.locator('input[name=external_reference]').fill(effect.id)
  await page.locator('input[name=reason]').fill('Their page shows it.')
  await page.locator('input[name=outcome][value=happened]').check()
  const file = { name: 'their page.html', mimeType: 'text/html', buffer: Buffer.from('<script>alert(1)</script>') }
  await page.locator('input[name=file]').setInputFiles(file)
  await page.getByRole('button', { name: /^Confirm/ }).click()
  await expect(page.locator('[data-code=unprocessable]'), 'a chosen file is not forgotten').toBeFocused()
  await page.locator('input[name=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Attach the file' }).click()
  await expect(page).toHaveURL(/attached=1/)
  await alive(page)
  await expect(page.locator('input[name=reason]')).toHaveValue('Their page shows it.')
  await expect(page.locator('input[name=external_reference]')).toHaveValue(effect.id)
  await expect(page.locator('input[name=outcome]:checked')).toHaveCount(0)
  await expect(page.getByRole('link', { name: 'their page.html' })).toBeVisible()
  await page.locator('input[name=outcome][value=happened]').check()
  await page.getByRole('button', { name: /^Confirm/ }).click()
  await expect(page).toHaveURL(/\/receipts\//)
  const link = page.getByRole('link', { name: 'their page.html' })
  const href = await link.getAttribute('href')
  const answer = await page.request.get(href ?? '')
  expect(answer.headers()['content-disposition']).toContain('attachment')
  expect(answer.headers()['content-type']).toBe('application/octet-stream')
})

test('what of a policy loosens is said before it is sent @no-js', async ({ page }) => {
  await enter(page, 'admin@acme.test', '/admin/kinds/invoice.charge')
  await page.getByRole('link', { name: 'Change the policy' }).click()
  await alive(page)
  await page.getByLabel('Masked fields').fill('')
  await page.getByLabel('A lease lasts without a beat').fill('soon')
  await page.getByRole('button', { name: 'Look at what would change' }).click()
  await expect(page.locator('#lease_ms-error')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Ask for a second person' })).toHaveCount(0)
  await page.getByLabel('A lease lasts without a beat').fill('1 h')
  await page.getByRole('button', { name: 'Look at what would change' }).click()
  await expect(page.getByText('Masked fields would be shown.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Ask for a second person' })).toBeVisible()
})
