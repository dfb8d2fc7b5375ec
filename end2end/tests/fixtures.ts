// A page that may not complain: any console error, page error or refused resource fails the test.
import { type Browser, type Cookie, type Page, test as base, expect } from '@playwright/test'
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

export async function signIn(page: Page, email: string, next?: string, password = demo.password) {
  await page.goto(next ?? '/')
  await proveIdentity(page, email, password)
}

async function proveIdentity(page: Page, email: string, password: string) {
  await expect(page).toHaveURL(/\/sign-in/)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).not.toHaveURL(/\/sign-in/)
}

/** Sessions that this worker has begun, and until when they are as good as new: what moves money takes a fresh one. */
const sessions = new Map<string, { cookies: Cookie[]; until: number }>()
const AS_GOOD_AS_NEW = 3 * 60_000

/** Opens a page as a person, in a session that is there already where there is one: signing in costs a second. */
export async function enter(page: Page, email: string, place = '/') {
  const known = sessions.get(email)
  // A browser that does not take them back signs in as anybody does.
  if (known && known.until > Date.now()) await page.context().addCookies(known.cookies).catch(() => sessions.delete(email))
  await page.goto(place)
  if (!new URL(page.url()).pathname.startsWith('/sign-in')) return
  await proveIdentity(page, email, demo.password)
  const cookies = (await page.context().cookies()).filter(({ name }) => name === '__Host-sid')
  sessions.set(email, { cookies, until: Date.now() + AS_GOOD_AS_NEW })
}

/** Somebody else at another desk, with scripts where this test has them. */
export async function elsewhere<T>(browser: Browser, email: string, place: string, does: (page: Page) => Promise<T>) {
  const context = await browser.newContext({ javaScriptEnabled: test.info().project.name === 'js' })
  try {
    const page = await context.newPage()
    await enter(page, email, place)
    return await does(page)
  } finally {
    await context.close()
  }
}

/** Waits until the page has come to life, where it can. */
export async function alive(page: Page) {
  await page.waitForLoadState('networkidle')
}
