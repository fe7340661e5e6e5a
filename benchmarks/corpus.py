"""Made-up everyday talk, as much as is wanted: the same seed says the same words.

Sentences are as long as spoken ones (12 to 23 words) and their words as unevenly spread: a few
names and verbs everywhere, many nouns seldom. Everything here was written for this benchmark.
"""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from slowcat_memory.records import SessionEdge, Turn

SCOPE = "anna"
START = datetime(2024, 1, 8, 18, tzinfo=UTC)
NOW = START.replace(year=START.year + 4)  # when questions are asked
SESSION_TURNS = 20

WORDS: dict[str, tuple[str, ...]] = {
    key: tuple(word.strip() for word in text.split(","))
    for key, text in {
        "person": "my sister Clara, my brother Jonas, Grandma Ruth, Uncle Felix, my neighbour Priya, "
        "my colleague Samir, my friend Odile, Doctor Weber, our landlord Mister Novak, my cousin Ines, "
        "my boss Helene, little Theo, my old teacher Miss Okafor, the plumber Kurt, my aunt Beatriz, "
        "my flatmate Yuki, our babysitter Lola, my nephew Emil, the gardener Tomas, my running mate Greta, "
        "my brother-in-law Oscar, the florist Amira, my godmother Sofia, our postman Henk, my niece Juno",
        "name": "Clara, Jonas, Ruth, Felix, Priya, Samir, Odile, Weber, Novak, Ines, Helene, Theo, Okafor, "
        "Kurt, Beatriz, Yuki, Lola, Emil, Tomas, Greta, Oscar, Amira, Sofia, Henk, Juno",
        "pet": "the dog Max, our cat Minka, the parrot Coco, the old rabbit Flocke, the tortoise Hugo, "
        "our goldfish, the puppy Bela, the neighbour's cat, the two guinea pigs, the pony Stella",
        "place": "Lisbon, the Black Forest, Copenhagen, the lake behind the mill, Marseille, Kyoto, the harbour, "
        "Edinburgh, the botanical garden, Ghent, the allotment, the ice rink, Oaxaca, the old library, "
        "Innsbruck, the flea market, Tallinn, the coast near Bergen, the climbing hall, Sarajevo, "
        "the night train to Vienna, the farm in Normandy, the dunes, Montreal, the bakery on the corner, "
        "the swimming pool, Valencia, the town hall, the lighthouse, Reykjavik",
        "food": "lentil soup, plum cake, sourdough bread, mushroom risotto, pickled herring, okra stew, "
        "rhubarb jam, grilled aubergine, cardamom buns, chestnut pasta, goat cheese, mango lassi, "
        "pumpkin curry, poppy seed rolls, smoked trout, fennel salad, buckwheat pancakes, quince jelly, "
        "peanut noodles, walnut bread, leek quiche, black bean tacos, rice pudding, apple strudel",
        "thing": "the washing machine, a second-hand cello, the blue bicycle, the tent, a sewing machine, "
        "the kitchen lamp, an old typewriter, the balcony door, my hiking boots, the coffee grinder, "
        "a telescope, the green sofa, the piano, my winter coat, a wooden kayak, the camera, "
        "the dishwasher, a bread oven, the garden fence, a pair of skates, the radio, the rain barrel",
        "activity": "pottery, bouldering, choir practice, Portuguese lessons, bird watching, chess, "
        "open water swimming, watercolours, salsa, beekeeping, orienteering, knitting, table tennis, "
        "star gazing, woodwork, archery, yoga, rowing, calligraphy, mushroom picking, fencing, juggling",
        "like": "cannot stand, has always loved, is allergic to, secretly likes, would never eat, "
        "keeps talking about, has got tired of, wants to learn how to make, only eats, swears by",
        "when": "last Tuesday, in the second week of May, on the ninth of March, over Easter, this morning, "
        "two weeks ago, on Saturday night, at the end of October, the day before yesterday, in summer, "
        "on New Year's Eve, on the fourth of July, back in spring, around noon yesterday, in early June",
        "soon": "next Friday, on the twentieth of August, after the holidays, tomorrow at half past seven, "
        "in about three weeks, on the first weekend of September, next month, the day after tomorrow, "
        "on the second of November, before Christmas, on Thursday at four, at the end of the week",
        "mood": "really happy about it, a bit worried, completely exhausted, quite proud, rather annoyed, "
        "so relieved, still undecided, over the moon, a little sad, pleasantly surprised",
        "cost": "forty euros, almost nothing, a hundred and twenty, twice as much as last time, "
        "three hundred and fifty, less than I feared, a small fortune, ninety-nine cents",
        "reason": "because the train was cancelled, since the roof was leaking, so that nobody feels left out, "
        "because of the knee operation, as the school is closed, since it would not stop raining, "
        "because the recipe was in French, so that the children can sleep in, as a surprise",
    }.items()
}

SAID = (
    "{when} I went to {place} with {person}, and we ended up trying {food}, {reason}.",
    "{person} called and said that {pet} had to see the vet {when}, so I am {mood}.",
    "I finally bought {thing} {when}, it cost {cost}, and {person} helped me to carry it home.",
    "Did I tell you that {person} {like} {food}, and we only found out {when}?",
    "We are planning to go to {place} {soon}, and {person} wants to bring {pet} along.",
    "I have started with {activity} {when}, {person} talked me into it, and I am {mood}.",
    "Could you remind me that {person} is coming {soon} to look at {thing}?",
    "{thing} broke again {when}, {reason}, and the repair will be {cost}, so I am {mood}.",
    "{pet} ran away near {place} {when}, but {person} found it behind {thing}, thank goodness.",
    "For the birthday of {person} {soon} I want to make {food} and give away {thing}.",
    "{person} moved to {place} {when} and now spends every weekend on {activity}.",
    "I promised {person} to water the plants and feed {pet} until they are back from {place} {soon}.",
    "My appointment about {thing} was moved to {soon}, {reason}, so please keep that in mind.",
    "When I was in {place} {when}, I met {person} by chance at {activity} and we talked for hours.",
    "Honestly, {food} from {place} is the best that I have had, though {person} {like} it.",
    "{person} is thinking of giving up {activity} {reason}, and I do not know what to say.",
)
REPLIED = (
    "That sounds lovely, so you will be busy with {activity} {soon}, I hope {pet} behaves.",
    "I see, {reason}, well then I will keep in mind that {person} {like} {food}.",
    "Noted, {thing} and {person} {soon}, shall I also think of {food} for that evening?",
    "How nice that {person} came along to {place}, you must have been {mood} afterwards.",
    "I would ask {person} about {thing} first, it may well cost {cost} in {place}.",
    "All right, so {activity} {soon} and {food} for dinner, and {pet} stays with {person}.",
)
ASKED = (
    "when was I in {place} with {name}",
    "what does {name} think about {food}",
    "who helped me with {thing}",
    "what did I pay for {thing} {when}",
    "tell me again what happened to {pet} near {place}",
    "which plans do we have for {place} {soon}",
    "does {name} still go to {activity} and why",
    "what should I cook for {name} {soon}, maybe {food}",
    "I am thinking about {activity} again, what did {name} say about it",
    "can you remind me what was wrong with {thing} when {name} came by",
    "where did {name} and I eat {food}",
    "I wonder whether {pet} could come with us to {place} {soon}",
)


def turns(
    count: int, seed: int, after: int = 0, scope: str = SCOPE
) -> Iterator[tuple[str, list[Turn | SessionEdge]]]:
    """Make sessions of talk between a person and an agent.

    Args:
        count: How many turns.
        seed: The same one makes the same turns.
        after: How many turns were made before; later sessions come later.
        scope: Whose memory holds them.

    Yields:
        Session id and its events, in order.
    """
    chance = random.Random(f"{seed}/{after}")
    for first in range(after, after + count, SESSION_TURNS):
        id_, at = f"{scope}{first:07d}", START + timedelta(hours=2 * first)
        ids = range(first, min(first + SESSION_TURNS, after + count))
        said = [_turn(chance, scope, id_, n, at + timedelta(seconds=12 * (n - first))) for n in ids]
        start = SessionEdge(session=id_, scope=scope, kind="start", at=at)
        end = SessionEdge(session=id_, scope=scope, kind="end", at=said[-1].at, reason="silence")
        yield id_, [start, *said, end]


def questions(count: int, seed: int) -> list[str]:
    """Make questions about such talk, no two alike.

    Args:
        count: How many.
        seed: The same one makes the same questions.

    Returns:
        Texts as a recogniser yields them, without capitals at the start or a question mark.
    """
    chance, made = random.Random(f"{seed}/questions"), dict[str, None]()
    while len(made) < count:
        made[_fill(chance, ASKED)] = None
    return list(made)


def _turn(chance: random.Random, scope: str, session: str, number: int, at: datetime) -> Turn:
    agent = number % 2 == 1
    return Turn(
        session=session,
        scope=scope,
        speaker="Assistant" if agent else "Anna",
        role="assistant" if agent else "user",
        text=_fill(chance, REPLIED if agent else SAID),
        at=at,
    )


def _fill(chance: random.Random, templates: tuple[str, ...]) -> str:
    """Fill a template; words early in a list come up more often than late ones."""
    words = {
        key: choices[int(len(choices) * chance.random() ** 1.5)] for key, choices in WORDS.items()
    }
    text = chance.choice(templates).format(**words)
    return text[0].upper() + text[1:] if templates is not ASKED else text
