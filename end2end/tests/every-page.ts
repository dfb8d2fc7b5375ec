// Every page of the router has been looked at, with scripts and without, and of each form that decides
// about a record every verb: a page that is added and forgotten fails the run. Asked of whole runs alone.
import { readdirSync, readFileSync } from 'node:fs'
import type { FullConfig, FullResult, Reporter, Suite } from '@playwright/test/reporter'

/** What a look is called among the annotations of its test. */
export const LOOK = 'look'

/** Verbs that have no form of their own: what gathers and what makes a token has another page. */
const elsewhere = ['/incidents/:id/open', '/incidents/:id/add', '/admin/tokens/:id/issue']

const source = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const parts = (path: string) => path.split('/').filter(Boolean)
const named = (path: string) => parts(path).filter((part) => !part.startsWith(':')).length

/** What can be decided about each kind of record, by the path of its pages. */
function verbs(): Map<string, string[]> {
  const text = source('app/domain/src/action.rs')
  const words = new Map([...text.matchAll(/^ {4}(\w+) = "(\w+)";$/gm)].map(([, name, word]) => [name!, word!]))
  const pages = new Map([...text.matchAll(/Self::(\w+) => "(\/[\w/]+)"/g)].map(([, kind, path]) => [kind!, path!]))
  const table = [...text.matchAll(/TargetType::(\w+) => &\[([^\]]*)\]/g)]
  const of = (list: string) => [...list.matchAll(/Self::(\w+)/g)].map(([, name]) => words.get(name!)!)
  return new Map(table.map(([, kind, list]) => [pages.get(kind!)!, of(list!)]))
}

/** The addresses of all pages, the forms of verbs one by one. */
export function pages(): string[] {
  const table = verbs()
  const routes = [...source('app/src/app.rs').matchAll(/<Route path=path!\("([^"]*)"\)/g)].map(([, path]) => path || '/')
  const each = routes.flatMap((route) => {
    if (!route.endsWith('/:verb')) return [route]
    const record = route.replace('/:verb', '')
    return table.get(record.replace('/:id', ''))!.map((verb) => `${record}/${verb}`)
  })
  return each.filter((route) => !elsewhere.includes(route))
}

/** The page at a place: of those that fit, the one that names most of it. */
function pageAt(all: string[], place: string): string | undefined {
  const at = parts(place)
  const fits = (page: string) =>
    parts(page).length === at.length && parts(page).every((part, index) => part.startsWith(':') || part === at[index])
  return all.filter(fits).sort((one, other) => named(other) - named(one))[0]
}

export default class EveryPage implements Reporter {
  private suite: Suite | undefined

  onBegin(_: FullConfig, suite: Suite) {
    this.suite = suite
  }

  async onEnd(result: FullResult): Promise<{ status: FullResult['status'] } | undefined> {
    const ways = this.suite?.suites.filter((way) => way.allTests().length > 0) ?? []
    const specs = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.spec.ts'))
    const ran = this.suite?.allTests().filter(({ results }) => results.length > 0)
    const run = new Set(ran?.map((test) => test.location.file))
    const whole = specs.every((file) => [...run].some((path) => path.endsWith(`/${file}`)))
    if (result.status !== 'passed' || !whole) return undefined
    const all = pages()
    const missing = ways.flatMap((way) => {
      const looks = way.allTests().flatMap((test) => test.results.flatMap(({ annotations }) => annotations))
      const seen = new Set(
        looks.filter(({ type }) => type === LOOK).map(({ description }) => pageAt(all, description ?? '')),
      )
      return all.filter((page) => !seen.has(page)).map((page) => `${way.title}: nobody looks at ${page}`)
    })
    console.log(missing.length > 0 ? missing.join('\n') : `every page has been looked at: ${all.length}, ${ways.length} ways`)
    return missing.length > 0 ? { status: 'failed' } : undefined
  }
}
