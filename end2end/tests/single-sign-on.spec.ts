// Signing in with a real identity provider, which runs beside the demo for this test alone.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from './fixtures'

const issuer = process.env.ONCEOVER_OIDC_ISSUER
let provider: ChildProcess

test.skip(!issuer, 'this demo has no identity provider; run ci/browser.sh')

test.beforeAll(async ({ baseURL }) => {
  provider = spawn('node', ['provider.mjs', `${baseURL}/sign-in/oidc/callback`], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(provider, 'exit').then(([code]) => Promise.reject(new Error(`the provider ended with ${code}`)))
  await Promise.race([once(provider.stdout!, 'data'), ended])
  ended.catch(() => {})
})

test.afterAll(() => {
  provider.kill()
})

// The pages of the provider are its own: what they complain of is not ours.
test.use({ tolerated: [/.*/] })

test('a person signs in with the provider, lands where the link led, and proves it again', async ({ page }) => {
  const atProvider = async () => {
    await page.locator('input[name=login]').fill('ann')
    await page.locator('input[name=password]').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
  }
  await page.goto('/operations?status=unknown')
  await page.getByRole('link', { name: 'Sign in with Corp' }).click()
  await expect(page).toHaveURL(new RegExp(`^${issuer}/`))
  await atProvider()
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page).toHaveURL(/\/operations\?status=unknown$/)
  await page.goto('/me')
  await expect(page.getByText('ann@corp.example').first()).toBeVisible()
  await expect(page.getByText('Operator').first()).toBeVisible()

  const before = (await page.context().cookies()).find((cookie) => cookie.name === '__Host-sid')!.value
  await page.goto('/sign-in/oidc/again?next=%2Foutbox')
  await expect(page).toHaveURL(new RegExp(`^${issuer}/`))
  await atProvider()
  await expect(page).toHaveURL(/\/outbox$/)
  const after = (await page.context().cookies()).find((cookie) => cookie.name === '__Host-sid')!.value
  expect(after, 'another token').not.toBe(before)
})
