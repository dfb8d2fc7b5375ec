// Making a token, using it, and taking it back: with JavaScript and without.
import { demo } from './demo'
import { alive, enter, expect, test } from './fixtures'

test('a token of a service is made, shown once, used and taken back @no-js', async ({ page, request }, info) => {
  const name = `e2e ${info.project.name} ${Date.now().toString(36)}`
  await enter(page, 'admin@acme.test', '/admin/tokens')
  await page.getByRole('link', { name: 'Make a token' }).click()
  await alive(page)
  await page.getByRole('button', { name: 'Make the token' }).click()
  await expect(page.locator('[data-code=unprocessable]')).toBeFocused()
  await alive(page)
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.locator('input[name=verbs][value=reserve]').check()
  await page.locator('input[name=kinds]').fill('invoice.charge')
  await page.locator('input[name=days]').fill('7')
  await page.getByLabel('Reason').fill('A test of the browser.')
  await page.getByRole('button', { name: 'Make the token' }).click()
  await expect(page.getByText('It is made.')).toBeVisible()
  const text = (await page.locator('[data-secret] .key').textContent()) ?? ''
  expect(text).toMatch(/^onceover_service_[\w-]{43}$/)
  expect(page.url()).not.toContain(text)

  const reserve = (key: string) =>
    request.post('/api/v1/operations', {
      headers: { authorization: `Bearer ${text}` },
      data: {
        operation: 'invoice.charge',
        key,
        payload: { invoice_id: key, amount_minor: 100, currency: 'EUR' },
      },
    })
  expect((await reserve(`first of ${name}`)).status()).toBe(201)
  const beyond = await request.get('/api/v1/operations/01a2287c-c88e-7848-88ac-9331cc799376', {
    headers: { authorization: `Bearer ${text}` },
  })
  expect(beyond.status()).toBe(403)
  expect((await beyond.json()).missing_verb).toBe('read')

  await page.goto('/tokens/made')
  await expect(page.getByText('Nothing is shown here.')).toBeVisible()
  await page.goto('/admin/tokens')
  await expect(page.getByText(text)).toHaveCount(0)
  await page.getByRole('link', { name }).click()
  await expect(page.locator('main h1')).toContainText(name)
  await page.getByRole('link', { name: 'Revoke the token' }).click()
  await alive(page)
  await page.getByLabel('Reason').fill('The test is over.')
  await page.getByRole('button', { name: /^Revoke/ }).click()
  await expect(page).toHaveURL(/\/receipts\//)
  await expect(page.locator('main h1')).toContainText('Token revoked')
  expect((await reserve(`second of ${name}`)).status()).toBe(401)
})

test('people make their own and see what it may @no-js', async ({ page, request }, info) => {
  const name = `own ${info.project.name} ${Date.now().toString(36)}`
  await enter(page, 'viewer@acme.test', '/me')
  await page.getByRole('link', { name: 'Make a token' }).click()
  await alive(page)
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.locator('input[name=verbs][value=read]').check()
  await page.locator('input[name=days]').fill('1')
  await page.getByLabel('Reason').fill('To look at the list from a script.')
  await page.getByRole('button', { name: 'Make the token' }).click()
  const text = (await page.locator('[data-secret] .key').textContent()) ?? ''
  const list = await request.get('/api/v1/operations', { headers: { authorization: `Bearer ${text}` } })
  expect(list.status()).toBe(200)
  await page.goto('/me')
  await expect(page.getByRole('link', { name })).toBeVisible()
})

test('whoever may not look after tokens is shown none and stands in the log @no-js', async ({ page, request }) => {
  await enter(page, 'viewer@acme.test', '/me')
  const looked = await page.request.get('/admin/tokens')
  expect(looked.status()).toBe(403)
  const log = await request.get('/api/v1/audit?denied=true&verb=read_tokens', {
    headers: { authorization: `Bearer ${demo.staff_tokens['auditor@acme.test']}` },
  })
  expect(log.status()).toBe(200)
  const { items } = (await log.json()) as { items: { actor: string; request_id: string; code: string }[] }
  const rows = items.filter((row) => row.request_id === looked.headers()['x-request-id'])
  expect(rows.map((row) => [row.actor, row.code])).toEqual([['viewer@acme.test', 'permission_missing']])
})
