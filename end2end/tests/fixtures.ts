// A page that may not complain: any console error, page error or refused resource fails the test.
import { type Page, test as base, expect } from '@playwright/test'
import { demo } from './demo'

export { expect }

export const test = base.extend<{ tolerated: RegExp[]; quiet: undefined; policyKept: undefined }>({
  // Chromium reports a page that answers with an error status; tests of such pages name it here.
  tolerated: [[], { option: true }],
  // In every page of the test's context our own content security policy is kept, and nothing tolerates that it
  // is not (T08). Without JavaScript nobody listens, but the console tells.
  policyKept: [
    async ({ context, baseURL }, use) => {
      const broken: string[] = []
      await context.exposeBinding('__policyBroken', (_, what: string) => broken.push(what))
      await context.addInitScript((origin) => {
        // The page of an identity provider has a policy of its own.
        if (location.origin !== origin) return
        addEventListener('securitypolicyviolation', (event) => {
          const told = window as unknown as { __policyBroken: (what: string) => void }
          told.__policyBroken(`${location.pathname}: ${event.violatedDirective} ${event.blockedURI}`)
        })
      }, new URL(baseURL ?? 'http://127.0.0.1').origin)
      await use(undefined)
      expect(broken, 'no page breaks its content security policy').toEqual([])
    },
    { auto: true },
  ],
  quiet: [
    async ({ page, tolerated, javaScriptEnabled }, use) => {
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      await use(undefined)
      // Without JavaScript what it would have loaded stays unused.
      const expected = javaScriptEnabled ? tolerated : [...tolerated, /was preloaded using link preload/]
      const left = complaints.filter((text) => !expected.some((pattern) => pattern.test(text)))
      expect(left, 'the console stays quiet').toEqual([])
    },
    { auto: true },
  ],
})

export async function signIn(page: Page, email: string, next?: string) {
  await page.goto(next ?? '/')
  await expect(page).toHaveURL(/\/sign-in/)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(demo.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).not.toHaveURL(/\/sign-in/)
}

/** Waits until the page has come to life, where it can. */
export async function alive(page: Page) {
  await page.waitForLoadState('networkidle')
}
