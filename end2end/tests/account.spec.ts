// One's own account from a browser, with scripts and without: tenants, sessions, password, second factor;
// and the audit log's own check.
import { createHmac } from 'node:crypto'
import type { Page } from '@playwright/test'
import { demo, newPerson } from './demo'
import { enter, expect, signIn, test } from './fixtures'
import { look } from './look'
import * as records from './records'

test('a record of another tenant of mine offers the switch, and the session stands there after it @no-js', async ({
  page,
  request,
}) => {
  const { email } = newPerson('both', { acme: 'viewer', globex: 'viewer' })
  const there = { acme: await records.preview(request), globex: await records.preview(request, undefined, 'globex') }
  await signIn(page, email)
  const tenant = page.locator('.topbar .tenant-name').first()
  const [here, other] = (await tenant.textContent()) === 'Globex' ? ['globex', 'acme'] as const : ['acme', 'globex'] as const
  const place = `/operations/${there[other].id}`
  await page.goto(place)
  await expect(page.locator(`[data-elsewhere=${other}]`)).toBeVisible()
  await look(page, 'in-another-tenant')
  await page.getByRole('button', { name: /^Switch to .* and open it$/ }).click()
  await expect(page).toHaveURL(new RegExp(`${place}$`))
  await expect(page.locator('.detail-key').first()).toContainText(there[other].key)

  // The way back stands in the bar of every page.
  await page.locator('.topbar details.menu summary').click()
  await page.locator(`.topbar button[name=tenant][value=${here}]`).click()
  await expect(page.locator(`[data-elsewhere=${other}]`), 'the same page, from the other side').toBeVisible()
  await page.goto(`/operations/${there[here].id}`)
  await expect(page.locator('.detail-key').first()).toContainText(there[here].key)
})

/** A page of this person's that is signed out shows the sign-in page at its next step. */
const isOut = async (page: Page) => {
  await page.goto('/operations')
  await expect(page).toHaveURL(/\/sign-in/)
}

test('one ends one’s other sessions, one by one and all at once, and a new password ends them too @no-js', async ({
  page,
  browser,
  javaScriptEnabled,
}) => {
  test.setTimeout(120_000)
  const { email } = newPerson('sessions', { acme: 'viewer' })
  const other = await (await browser.newContext({ javaScriptEnabled })).newPage()
  const others = () => page.getByRole('button', { name: /^End the session of/ })
  await signIn(page, email)
  await signIn(other, email)
  await page.goto('/me')
  await expect(others()).toHaveCount(1)
  await others().click()
  await expect(page.getByText('The session has ended.')).toBeVisible()
  await isOut(other)

  await signIn(other, email)
  await page.goto('/me')
  await page.getByRole('button', { name: 'End all others' }).click()
  await expect(page.getByText('All your other sessions have ended.')).toBeVisible()
  await isOut(other)

  await signIn(other, email)
  await page.goto('/me')
  const password = 'correct horse battery staple'
  await page.locator('#password-current').fill(demo.password)
  await page.locator('#password-new').fill(password)
  await page.locator('#password-again').fill(password)
  await page.getByRole('button', { name: 'Change the password' }).click()
  await expect(page.getByText('Your password is changed')).toBeVisible()
  await expect(others(), 'this one goes on, alone').toHaveCount(0)
  await isOut(other)
  await signIn(other, email, '/', password)
  await other.context().close()
})

/** The code that an authenticator shows now (RFC 6238). */
function code(secret: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const mac = createHmac('sha1', key).update(counter).digest()
  const at = mac[mac.length - 1]! & 15
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

test('a second factor is turned on by a code, asked for at the door, and turned off again @no-js', async ({ page }) => {
  test.setTimeout(120_000)
  const { email } = newPerson('factor', { acme: 'viewer' })
  await signIn(page, email, '/me')
  await page.getByRole('button', { name: 'Set up a second factor' }).click()
  const secret = (await page.locator('main code').first().textContent())!
  await page.locator('input[name=factor]').fill(code(secret))
  await page.getByRole('button', { name: 'Turn it on' }).click()
  const recovery = page.locator('main li code')
  await expect(recovery).toHaveCount(10)
  await look(page, 'recovery-codes', '/me/second-factor')
  const once = (await recovery.first().textContent())!

  await page.locator('form[action="/sign-out"] button').first().click()
  await page.goto('/me')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(demo.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).toHaveURL(/\/sign-in\/code/)
  await look(page, 'sign-in-code')
  await page.getByLabel('Code').fill('000000')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.locator('[data-code=factor_refused]')).toBeVisible()
  await page.getByLabel('Code').fill(once)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).toHaveURL(/\/me$/)
  await expect(page.getByText('9 recovery codes are left')).toBeVisible()

  await page.getByRole('button', { name: 'Turn it off' }).click()
  await expect(page.getByText('Your second factor is off.')).toBeVisible()
})

test('an auditor has the log’s chain checked, and it is as it was written @no-js', async ({ page }) => {
  await enter(page, 'auditor@acme.test', '/audit')
  const button = page.getByRole('button', { name: 'Check the chain' })
  const again = async () => (await page.goto('/audit')) && page.getByText(/All \d+ entries are as they were written\./).isVisible()
  // Another check may be under way: there is one at a time.
  await expect.poll(async () => (await page.goto('/audit')) && button.isEnabled(), { timeout: 30_000 }).toBe(true)
  await button.click()
  await expect(page).toHaveURL(/\/audit#chain$/)
  await expect.poll(again, { timeout: 30_000 }).toBe(true)
})
