import { describeLoadError } from './describe-load-error.ts';

const withStack = (stack: string): Error => Object.assign(new TypeError('x is not a function'), { stack });

describe('describeLoadError', () => {
  it.each([
    ['at file:///app/my-api/a.ts:3:9\n at x', 'TypeError: x is not a function (my-api/a.ts:3:9)'],
    ['at Object.run (/app/my-api/lib/b.ts:10:1)', 'TypeError: x is not a function (my-api/lib/b.ts:10:1)'],
    ['at node:internal/x:1:1\n at file:///app/handler.mjs:5:2', 'TypeError: x is not a function'],
    ['', 'TypeError: x is not a function'],
  ])('%j', (stack, text) => {
    expect(describeLoadError(withStack(stack))).toBe(text);
  });

  it('bounds what may become the message of a condition', () => {
    expect(describeLoadError(new Error('x'.repeat(9000))).length).toBeLessThan(2100);
    expect(describeLoadError({ any: 'thing' })).toBe("The handler threw { any: 'thing' } while loading.");
  });
});
