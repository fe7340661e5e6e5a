"""An LLM judges which of the memories ranked for a query answer it.

Queries recur in other words: each judgement is kept as a key of the memory, with the query's
text, and changes its score for similar queries (``core.ranking.score``). A memory that was offered
and does not answer is a hard negative; for one that was rejected, this is no new information.
"""

from msgspec import Struct

from slowcat_memory.core.ranking.grades import (
    ANSWER_TOKENS,
    MOST,
    SYSTEM,
    VERSION,
    Grades,
    build_prompt,
    grades_of,
    judgement,
)
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.feedback import shared
from slowcat_memory.idle.jobs.options import RerankOptions
from slowcat_memory.idle.prompt_gate import names_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Cursor, Made, Task, WriteBatch


class Rerank:
    """The job; see ``Job``."""

    name = "rerank"
    version = VERSION
    needs: Needs = "llm"
    trigger = Trigger(turns=20, session_end=True)
    Options: type[Struct] = RerankOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each query behind the cursor with ranked memories."""
        options: RerankOptions = context.options
        scopes = frozenset(context.scopes())
        with context.snapshot() as snapshot:
            cursor = snapshot.cursor(self.name)
            after = cursor.position if cursor else max(0, snapshot.last_id() - options.newest)
            turns, upto = shared.turns_since(snapshot, after)
            queries = [turn for turn in turns if shared.is_query(turn) and turn.scope in scopes]
            tasks = tuple(
                Task(
                    id=f"{self.name}/{turn.scope}/{turn.id}",
                    job=self.name,
                    key=str(turn.id),
                    created=context.now,
                    scope=turn.scope,
                    rank=60 if turn.text.rstrip().endswith("?") else 70,
                    sources=(turn.id,),
                )
                for turn in queries
                if (entry := snapshot.ledger(turn.id)) and len(entry.told) > 1
            )
        if upto == after:
            return None
        return Plan(tasks=tasks, cursor=Cursor(name=self.name, position=upto))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: RerankOptions = context.options
        with context.snapshot() as snapshot:
            turn, entry = snapshot.turn(int(task.key)), snapshot.ledger(int(task.key))
            if turn is None or entry is None or shared.is_private(snapshot, turn):
                return WriteBatch()
            most = max(2, MOST >> task.attempts)  # fewer after an answer that cannot be used
            memories = list(shared.candidates(snapshot, entry))[:most]
            before = shared.before_reaction(snapshot, turn)
        llm = context.llm
        if len(memories) < 2 or llm is None:
            return WriteBatch()
        user, lines = build_prompt(
            turn, before, [memory for memory, _ in memories], llm.prompt_tokens
        )
        earlier = (before.id,) if before else ()
        prompt = Prompt(
            job=self.name,
            version=self.version,
            system=SYSTEM,
            user=user,
            made_from=names_of(
                turn.scope, (turn.id, *earlier), (memory.id for memory, _ in memories)
            ),
            max_tokens=ANSWER_TOKENS,
            temperature=0.0,
        )
        answer = await llm.complete(prompt, Grades)
        grades = grades_of(answer.value, lines)
        judged = {
            memory.id: judgement(grades[n], offered)
            for n, (memory, offered) in enumerate(memories[:lines], 1)
            if n in grades
        }
        if len(set(grades.values())) < 2:
            judged = {}  # one grade for all carries no information
        made = Made(job=self.name, version=self.version, model=answer.model)
        speakers = [memory.speaker for memory, _ in memories]
        return await shared.judgements(
            turn, judged, speakers, (turn.id, *earlier), made, options.kept, context
        )
