// The factor again in the middle of a confirm, from the browser: with JavaScript and without.
import { createHash } from 'node:crypto'
import type { Page } from '@playwright/test'
import { asOwner, demo, effectOf, operation, unknownPayment } from './demo'
import { alive, expect, signIn, test } from './fixtures'
import { look } from './look'

/** Lets ten minutes pass for the factor of this browser's session, and of no other. */
async function letTheFactorAge(page: Page) {
  const cookie = (await page.context().cookies()).find(({ name }) => name === '__Host-sid')
  const hash = createHash('sha256').update(cookie!.value).digest('hex')
  const aged = asOwner(`update sessions set factor_at = factor_at - interval '10 minutes'
    where token_hash = decode('${hash}', 'hex') returning 'aged'`)
  expect(aged).toBe('aged')
}

test.use({ tolerated: [/status of 403/] })

test('a payment is confirmed after the factor, the filled form comes back, and there is one receipt @no-js', async ({
  page,
  request,
}, info) => {
  const payment = await unknownPayment(request, `step-up-${info.project.name}`)
  await signIn(page, 'operator@acme.test', `/operations/${payment.id}/confirm`)
  await alive(page)
  const effect = await effectOf(request, payment.invoice)
  const reason = 'Seen with + & % "quotes" <b> and é 😀'
  await page.locator('input[name=outcome][value=happened]').check()
  await page.locator('input[name=external_reference]').fill(effect.id)
  await page.locator('input[name=reason]').fill(reason)
  await page.locator('[name=evidence]').fill('Ticket 7\nand their page')
  await letTheFactorAge(page)
  await page.getByRole('button', { name: /^Confirm/ }).click()

  await expect(page.locator('[data-code=step_up_required]')).toBeVisible()
  expect(page.url(), 'nothing of it in an address').not.toContain('reason')
  expect((await operation(request, payment.id)).version).toBe(payment.version)
  await look(page, 'step-up', '/step-up')
  await page.getByLabel('Password').fill('not the password')
  await page.getByRole('button', { name: 'Go on' }).click()
  await expect(page.locator('[data-code=factor_refused]')).toBeVisible()
  await page.getByLabel('Password').fill(demo.password)
  await page.getByRole('button', { name: 'Go on' }).click()

  await expect(page.locator('input[name=outcome][value=happened]')).toBeChecked()
  await expect(page.locator('input[name=external_reference]')).toHaveValue(effect.id)
  await expect(page.locator('input[name=reason]')).toHaveValue(reason)
  await expect(page.locator('input[name=evidence_kept]')).toBeChecked()
  await alive(page)
  await page.getByRole('button', { name: /^Confirm/ }).click()
  await expect(page).toHaveURL(/\/receipts\//)
  await expect(page.getByText(effect.id).first()).toBeVisible()

  const after = await operation(request, payment.id)
  expect(after.status).toBe('succeeded')
  const decisions = after.audit.filter((row: { action: string; result: string }) => row.action === 'confirm')
  expect(decisions.map((row: { result: string }) => row.result).sort()).toEqual(['denied', 'done'])
})

test('a second factor is begun by picture, link or text, and counts only after its code @no-js', async ({ page }) => {
  await signIn(page, 'auditor@acme.test', '/me')
  await expect(page.getByRole('heading', { name: 'Your sessions' })).toBeVisible()
  await page.getByRole('button', { name: 'Set up a second factor' }).click()
  await expect(page.getByRole('img', { name: 'The secret as a QR code' })).toBeVisible()
  await expect(page.getByRole('link', { name: 'Open in an authenticator' })).toHaveAttribute('href', /^otpauth:\/\/totp\//)
  await look(page, 'second-factor', '/me/second-factor')
  await page.locator('input[name=factor]').fill('000000')
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await expect(page.locator('[data-code=factor_refused]')).toBeVisible()
  await page.getByRole('link', { name: 'Back without it' }).click()
  await expect(page.getByRole('button', { name: 'Set up a second factor' })).toBeVisible()
})
