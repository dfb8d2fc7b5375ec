// What every page is held to: nothing runs past the edge, axe finds nothing, and a picture is kept.
//
// The CI's form takes each page once per way: with scripts light and wide, dark and narrow, without them
// once, and measures every width. `make browser-all` takes every theme and width both ways, twice the size
// of text, and paper. axe is a script: it looks where scripts run.
//
// Each look says which page it was of, so that a page of the router that nobody looks at fails the run
// (every-page.ts).
import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { LOOK } from './every-page'
import { alive, expect, test } from './fixtures'

const all = process.env.ONCEOVER_E2E_ALL === '1'
const themes = ['light', 'dark'] as const
type Theme = (typeof themes)[number]

/** Name, width and height. A window of 1,440 whose text is twice as large has room for 720. */
type Size = readonly [name: string, x: number, y: number]
const sizes: Size[] = [
  ['wide', 1440, 900],
  ['middle', 900, 800],
  ['narrow', 320, 700],
]
const larger: Size = ['zoomed', 720, 450]

// No motion: a colour half way from one theme to the other is on no page that anybody reads.
async function picture(page: Page, name: string, theme: Theme, [size, x, y]: Size) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  await page.setViewportSize({ width: x, height: y })
  await fits(page, `${name} ${theme} ${size}`)
  await page.screenshot({ path: `artefacts/shots/${name}-${theme}-${size}.png`, fullPage: true })
}

async function fits(page: Page, where: string) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  expect(overflow, `${where}: nothing runs past the edge`).toBeLessThanOrEqual(0)
}

async function accessible(page: Page, name: string, theme: Theme) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  await page.setViewportSize({ width: 1440, height: 900 })
  const { violations } = await new AxeBuilder({ page }).analyze()
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`)
  expect(found, `${name} ${theme}: axe finds nothing`).toEqual([])
}

async function onPaper(page: Page, name: string) {
  await page.emulateMedia({ media: 'print', colorScheme: 'light' })
  await page.setViewportSize({ width: 720, height: 1020 })
  await expect(page.locator('.rail'), `${name}: the way around is not printed`).toBeHidden()
  await fits(page, `${name} on paper`)
  if (all) await page.screenshot({ path: `artefacts/shots/${name}-paper.png`, fullPage: true })
  await page.emulateMedia({ media: 'screen' })
}

/** Looks at the page that is open; `place` is its own address where it answers a form of another. */
export async function look(page: Page, name: string, place = new URL(page.url()).pathname) {
  await alive(page)
  test.info().annotations.push({ type: LOOK, description: place })
  const scripts = test.info().project.name === 'js'
  const kept = scripts ? name : `${name}-plain`
  if (all) {
    for (const theme of themes) for (const size of [...sizes, larger]) await picture(page, kept, theme, size)
  } else if (scripts) {
    await picture(page, kept, 'light', sizes[0]!)
    await picture(page, kept, 'dark', sizes[2]!)
    await page.setViewportSize({ width: sizes[1]![1], height: sizes[1]![2] })
    await fits(page, `${name} ${sizes[1]![0]}`)
  } else {
    await picture(page, kept, 'light', sizes[0]!)
    for (const [size, x, y] of [sizes[2]!, larger]) {
      await page.setViewportSize({ width: x, height: y })
      await fits(page, `${name} ${size}`)
    }
    await onPaper(page, name)
  }
  if (all && scripts) await onPaper(page, name)
  if (scripts) for (const theme of themes) await accessible(page, name, theme)
  await page.setViewportSize({ width: 1440, height: 900 })
}
