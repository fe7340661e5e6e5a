"""A made-up life, told to an assistant: sessions of the past, and a conversation of fifty turns.

A longer one goes through the same fifty again, each time with other opening words.

Written for the prefix benchmark. Many of the fifty turns touch something that was said before, some
touch nothing at all; each line of ``TALK`` and of a session in ``PAST`` is what Nora says, and what
the assistant answers.
"""

from datetime import UTC, datetime, timedelta

from slowcat_memory.records import SessionEdge, Turn

Exchange = tuple[str, str]

NOW = datetime(2026, 5, 14, 19, 30, tzinfo=UTC)
SCOPE, PERSON, AGENT = "nora", "Nora", "Assistant"

PAST: dict[str, list[Exchange]] = {
    "2026-02-03": [
        (
            "We picked up a puppy from the shelter yesterday, she is a brown terrier mix called Biscuit.",
            "Congratulations! Biscuit is a lovely name. How did her first night go?",
        ),
        (
            "She slept in the laundry basket, and Imre did not sleep at all because he kept checking on her.",
            "Poor Imre. It usually gets calmer after the first week.",
        ),
        (
            "The vet, Doctor Anand, says that Biscuit is five months old and must not eat any chicken.",
            "No chicken then. Did the vet say what the allergy shows as?",
        ),
        (
            "Her ears get red and she scratches, so we give her salmon with rice instead.",
            "Salmon with rice sounds good, and it is easy to cook in advance.",
        ),
    ],
    "2026-02-19": [
        (
            "My mother turns seventy on the twenty-third of May and wants no surprise party whatsoever.",
            "Then something small? Perhaps she has a place that she loves.",
        ),
        (
            "She loves the botanical garden in Szeged, she studied there and always talks about the greenhouse.",
            "A day at the greenhouse could be a present by itself.",
        ),
        (
            "My sister Petra lives in Graz and would have to take the night train with her twins.",
            "The twins might enjoy a night train more than the party.",
        ),
        (
            "Petra's twins, Ida and Ben, are seven, and Ben gets sick on buses but never on trains.",
            "Then trains it is, all the way if possible.",
        ),
    ],
    "2026-03-07": [
        (
            "I started with the ceramics class on Tuesdays, the teacher is called Mireille and is very strict.",
            "Strict teachers often teach the most. What are you making first?",
        ),
        (
            "A teapot, which was a mistake, because the lid never fits, mine cracked in the kiln.",
            "Lids shrink in the kiln, so a second try will be better.",
        ),
        (
            "Imre built me a shelf in the cellar for my clay, it is a metre wide and painted green.",
            "A green shelf of your own, that makes the hobby official.",
        ),
        (
            "He also finally fixed the dripping tap in the bathroom, with a part that cost four euros.",
            "Four euros well spent, and no more dripping at night.",
        ),
    ],
    "2026-03-21": [
        (
            "We want to go to Slovenia in June, to Lake Bohinj, with the tent and with Biscuit.",
            "Bohinj in June is beautiful and dogs are welcome on most camp sites there.",
        ),
        (
            "Imre's knee was operated two years ago, so no more than ten kilometres of hiking a day.",
            "Ten kilometres is plenty around the lake, the loop is about twelve.",
        ),
        (
            "The camp site is called Zlatorog, we have reserved from the eleventh to the eighteenth of June.",
            "Zlatorog, the eleventh to the eighteenth of June. I will keep that in mind.",
        ),
        (
            "I would love to see the Savica waterfall, but Imre says that there are five hundred steps.",
            "He could wait at the bottom with Biscuit and a book.",
        ),
    ],
    "2026-04-02": [
        (
            "The new job starts on the first of September, I will work for the city library in the music section.",
            "The music section, that suits you perfectly. Congratulations!",
        ),
        (
            "My future boss is called Mister Halvorsen, he plays the double bass in an orchestra.",
            "You will have something to talk about then, with your cello.",
        ),
        (
            "I have not touched my cello since autumn, two strings are broken and the bow needs new hair.",
            "A violin maker can do both in a day or two.",
        ),
        (
            "The violin maker in Mill Street, old Mister Kovacs, takes sixty euros for the bow hair.",
            "Sixty euros is fair for that kind of work.",
        ),
    ],
    "2026-04-18": [
        (
            "I made sourdough bread from my neighbour Yasmin's starter, and it was as flat as a plate.",
            "A young starter is often weak. Feed it twice a day for a week.",
        ),
        (
            "Yasmin feeds hers with rye flour only and keeps it on top of the fridge where it is warm.",
            "Rye and warmth, that is the whole secret.",
        ),
        (
            "I cannot eat walnuts, they make my lips swell, so please never suggest walnut bread to me.",
            "No walnuts, noted. Pumpkin seeds give the same bite.",
        ),
        (
            "Imre prefers white bread anyway, he is the only person I know who dislikes garlic.",
            "No garlic and white bread, he is easy to feed and hard to cook for.",
        ),
    ],
    "2026-05-05": [
        (
            "Biscuit ate one of Imre's hiking boots, the left one, three weeks before we leave for the lake.",
            "Oh no. At least there is time to break in a new pair.",
        ),
        (
            "Doctor Anand wants to see Biscuit again for her rabies shot on the twentieth of May at nine.",
            "The twentieth of May at nine, the rabies shot. Bring her passport for the trip.",
        ),
        (
            "Petra called, the twins have chicken pox, so they may not come for mother's birthday.",
            "That would be a pity. It usually takes about ten days.",
        ),
        (
            "I have found a print of the old greenhouse from 1925 and want to have it framed for my mother.",
            "A wonderful present. An oak frame would suit the time.",
        ),
    ],
}

TALK: list[Exchange] = [
    (
        "Hi, I am finally home, what a long day, the tram stood still for half an hour.",
        "Welcome home, Nora. Sit down first, the rest can wait.",
    ),
    (
        "Biscuit was so happy to see me that she knocked over the umbrella stand.",
        "She must have missed you. Did anything break this time?",
    ),
    (
        "No, only an umbrella. What was it again that the vet said she must not eat?",
        "Chicken. Her ears turn red and she scratches, that is why she gets salmon.",
    ),
    (
        "Right, I almost bought the chicken snacks, they were half price today.",
        "Good that you asked. There are some with fish in the same shop.",
    ),
    (
        "When do we have to go to Doctor Anand with her?",
        "On the twentieth of May at nine, for the rabies shot.",
    ),
    (
        "Can you tell me why she needs that before the holidays?",
        "Because you cross a border with her, and it must be in her passport.",
    ),
    (
        "Okay. I am going to make some tea, do you know any good joke?",
        "What do you call a sleeping terrier? A pause button.",
    ),
    (
        "That was terrible, thank you. Let us talk about my mother's birthday.",
        "Gladly. It is her seventieth, and she wants no surprise party.",
    ),
    (
        "Exactly. Which day of the week is the twenty-third of May this year?",
        "It is a Saturday, so everybody should be free.",
    ),
    (
        "I was thinking of the garden with the greenhouse, do you remember where that was?",
        "In Szeged, where she studied. She often talks about the greenhouse.",
    ),
    (
        "How could Petra and the children get there without taking a bus?",
        "By night train to Budapest, and from there by train again. Ben only gets sick on buses.",
    ),
    (
        "Petra says that the spots are gone and that both of them are well again.",
        "That is wonderful news, then they can come after all.",
    ),
    (
        "I have to order the frame for the picture this week, what did we say about the wood?",
        "Oak, since the print is from the twenties and oak would suit it.",
    ),
    (
        "And should I write something on the back of it, maybe a dedication?",
        "A short one. The date, her age, and one sentence from both daughters.",
    ),
    (
        "That is a lovely idea, I will ask Petra for a sentence tonight.",
        "Ask her soon, the twins will want to add a drawing.",
    ),
    (
        "I am hungry. What could I cook that Imre would eat as well?",
        "Something without garlic. Potato soup with white bread would please him.",
    ),
    (
        "We do not have potatoes, but there is pumpkin and some cream in the fridge.",
        "Then pumpkin soup, with a little ginger and roasted seeds on top.",
    ),
    (
        "Could I put nuts on it instead of the seeds?",
        "Better not walnuts, they make your lips swell. Hazelnuts only if they agree with you.",
    ),
    (
        "Stay with the seeds then. How long does pumpkin have to cook?",
        "About twenty minutes in small cubes, then blend it.",
    ),
    (
        "While that is boiling, tell me what is still open for our camping trip.",
        "New boots for Imre, the dog's passport, and perhaps a warmer sleeping mat.",
    ),
    (
        "Which dates did we reserve at the camp site?",
        "From the eleventh to the eighteenth of June, at Zlatorog by Lake Bohinj.",
    ),
    (
        "Do you think that seven days there are too long for a small dog?",
        "No, she will love the water, and there is shade under the trees.",
    ),
    (
        "Imre wants to walk around the whole lake in one day, is that wise?",
        "It is about twelve kilometres, a bit more than his knee is meant to do.",
    ),
    (
        "You are right, I will suggest that we take the boat back.",
        "A good compromise, and Biscuit gets a boat ride.",
    ),
    (
        "And what about the waterfall that I wanted to see?",
        "The Savica has about five hundred steps. Imre could wait below with a book.",
    ),
    (
        "He will say that he can do it, he always says that.",
        "Then let him carry the camera, that slows him down.",
    ),
    (
        "Ha, that is mean. The soup is ready, it smells wonderful.",
        "Enjoy it. Do not forget the seeds on top.",
    ),
    (
        "It could use a little salt. By the way, my boss at the moment has been awful again.",
        "I am sorry. What happened this time?",
    ),
    (
        "He moved the meeting to seven in the evening without asking anybody.",
        "That is not fair to people with a life. Did you say something?",
    ),
    (
        "I did not, because it is only for a few more months. When do I start at the library?",
        "On the first of September, in the music section of the city library.",
    ),
    (
        "What was the name of the man that I will work for there?",
        "Mister Halvorsen, the one who plays the double bass.",
    ),
    (
        "Maybe we could play together one day, if I ever repair my instrument.",
        "The cello needs two strings and new hair on the bow.",
    ),
    (
        "How much would that cost me at the place in Mill Street?",
        "Sixty euros for the bow hair at Mister Kovacs, the strings come on top.",
    ),
    (
        "I think that I will bring it there on Saturday morning before the market.",
        "A good plan. Ask him how long he needs for it.",
    ),
    (
        "Do you know whether it is going to rain at the weekend?",
        "I cannot look that up from here, a glance at the forecast will tell.",
    ),
    (
        "Fine, I will take the umbrella that survived Biscuit.",
        "The brave one. Keep it out of her reach.",
    ),
    (
        "On Tuesday I have pottery again and I still have no idea what to make.",
        "After the teapot, something without a lid would be relaxing.",
    ),
    (
        "Mireille said that I should try a bowl with thin walls.",
        "A bowl is kind to beginners, and thin walls teach patience.",
    ),
    (
        "What went wrong with the lid the last time, do you still know?",
        "It never fitted, and the teapot cracked in the kiln.",
    ),
    (
        "Maybe I could make a water bowl for the dog, a heavy one.",
        "Heavy and wide, so that she cannot turn it over.",
    ),
    (
        "With her name on it, in green, like the shelf that Imre made for me.",
        "Green glaze with Biscuit in white letters would look great.",
    ),
    (
        "Yasmin came by and brought me a new jar of her starter.",
        "How kind. That means that you can bake at the weekend.",
    ),
    (
        "How does she keep it alive? Mine died in the fridge last month.",
        "She feeds it rye flour and keeps it on top of the fridge, where it is warm.",
    ),
    (
        "I will write that on the jar. How often should I feed it?",
        "Twice a day in the first week, then once is enough.",
    ),
    (
        "Imre just came home and asks who is going to fix the tap in the kitchen.",
        "He did the one in the bathroom with a part for four euros, so he knows how.",
    ),
    (
        "He says that he will do it if I wash the dog.",
        "A fair trade. Use the mild shampoo for her ears.",
    ),
    (
        "She hates the shower. Any trick for that?",
        "A spoon of salmon paste on the tiles keeps her busy.",
    ),
    (
        "Clever. Please remember that I promised Petra to call her on Sunday at six.",
        "On Sunday at six, a call to Petra. I will remember.",
    ),
    (
        "And that we still need a hotel in Szeged for one night.",
        "One night in Szeged around the twenty-third of May, noted.",
    ),
    (
        "Good night, I am going to bed early today.",
        "Good night, Nora, and good night to Imre and Biscuit.",
    ),
]


WRITTEN = len(TALK)  # turns that repeat nothing
AGAIN = ("", "Once more, please. ", "I lost my notes. ", "Say that again tomorrow. ")


def talk(turns: int) -> list[Exchange]:
    """Return a conversation of so many turns.

    Args:
        turns: At most four times fifty.

    Returns:
        What is said and answered, in order.

    Raises:
        ValueError: More turns than there are words for.
    """
    rounds = [(f"{opening}{said}", answer) for opening in AGAIN for said, answer in TALK]
    if turns > len(rounds):
        raise ValueError(f"a conversation has {len(rounds)} turns at most")
    return rounds[:turns]


def past() -> list[list[Turn | SessionEdge]]:
    """Return the sessions of the past as events of the log.

    Returns:
        Sessions in order.
    """
    return [_session(day, exchanges) for day, exchanges in PAST.items()]


def _session(day: str, exchanges: list[Exchange]) -> list[Turn | SessionEdge]:
    start = datetime.fromisoformat(f"{day}T18:00:00+00:00")
    said = [words for exchange in exchanges for words in exchange]
    times = [start + timedelta(seconds=15 * n) for n in range(len(said))]
    turns = [
        Turn(
            session=day,
            scope=SCOPE,
            speaker=AGENT if n % 2 else PERSON,
            role="assistant" if n % 2 else "user",
            text=words,
            at=at,
        )
        for n, (words, at) in enumerate(zip(said, times, strict=True))
    ]
    begin = SessionEdge(session=day, scope=SCOPE, kind="start", at=start)
    end = SessionEdge(session=day, scope=SCOPE, kind="end", at=times[-1], reason="silence")
    return [begin, *turns, end]
