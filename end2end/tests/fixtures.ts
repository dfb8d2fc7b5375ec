// A page that may not complain: any console error, page error or refused resource fails the test.
import { type Browser, type Cookie, type Page, test as base, expect } from '@playwright/test'
import { demo } from './demo'

export { expect }

export const test = base.extend<{ tolerated: RegExp[]; quiet: undefined }>({
  // Chromium reports a page that answers with an error status; tests of such pages name it here.
  tolerated: [[], { option: true }],
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
