"""Words that any two texts have in common: they say nothing of what a text is about."""

from typing import Final

__all__ = ["COMMON"]

_ENGLISH: Final = """
a about after again all also am an and any anybody anyone anything are as at back be because been before being but by
can cannot come could did do does doing done down each else even ever every everyone few for from get gets give go
goes going gone good got had has have having he her here hers him his hope how i if in into is it its just keep know
last let lets like little look looked looking looks made make makes many may maybe me mean might more most much must
my need needs never new next no nobody none nor not nothing now of off ok okay old on once one only or other our ours
out over own please put quite rather really right said same saw say says see seem seems seen shall she should since so
some somebody someone something soon still such sure take takes tell than thank thanks that the their them then there
these they thing things think this those though through till to today together told too tried try under until up us
use very want wants was way we well went were what when where whether which while who whole whom whose why will with
within without would yes yesterday yet you your yours
"""
_CHINESE: Final = """
一下 一个 一些 一样 一起 不是 不要 不能 不过 什么 他们 任何 但是 你们 你好 其他 再看 出来 出现
到了 可以 可能 因为 如果 就是 已经 帮我 应该 怎么 怎样 我们 我看 所以 所有 是不 是否 时候 有没
有点 有些 没有 然后 现在 的话 看看 知道 能不 自己 觉得 起来 这个 这些 这样 这里 还是 还有 还没
进行 通过 那个 那些 那么 那里 都是 需要
"""

COMMON: Final = frozenset(f"{_ENGLISH} {_CHINESE}".split())
"""Tokens as ``lexical.tokens`` makes them: English words, and pairs of Chinese characters."""
