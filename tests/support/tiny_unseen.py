"""Small lists in the form of ``benchmarks/data/unseen``: rows that are right, and rows that are not.

A row that must fail has a wrong label, so that no better rule mends it.
"""

from pathlib import Path

MARK = "quetzal"  # in every row of the half "held out" that fails

LISTS = {
    "commands": """\
half ~ language ~ kind ~ argument ~ sentence
tuned ~ english ~ forget that ~ ~ Forget that.
tuned ~ english ~ undo ~ ~ Please forget that.
tuned ~ english ~ forget topic ~ my loan ~ forget everything about the loan
tuned ~ english ~ forget topic ~ the boat ~ forget everything about the loan
tuned ~ english ~ remember ~ my locker code is 4411 ~ Remember that my locker code is 4411
tuned ~ english ~ remember ~ the code is 4411 ~ Remember for everyone that the code is 4411
held out ~ german ~ forget that ~ ~ Vergiss das.
held out ~ english ~ off record ~ ~ I had a quetzal for lunch.""",
    "lookalikes": """\
half ~ language ~ sentence
tuned ~ english ~ I forgot my umbrella.
tuned ~ english ~ Forget that.
held out ~ english ~ Remember that my quetzal is green.""",
    "gate": """\
half ~ language ~ needs ~ sentence
tuned ~ english ~ yes ~ What is my sister's name?
tuned ~ english ~ yes ~ Okay.
tuned ~ english ~ no ~ Okay, thanks.
held out ~ english ~ no ~ What is my quetzal's name?""",
    "time": """\
half ~ language ~ said ~ sentence ~ first ~ last ~ kind
tuned ~ english ~ 2026-05-13T10:00 ~ What did I say yesterday? ~ 2026-05-12 ~ 2026-05-12 ~ question
tuned ~ english ~ 2026-05-13T10:00 ~ I fell yesterday. ~ 2026-05-12 ~ 2026-05-12 ~ event back
tuned ~ english ~ 2026-05-13T10:00 ~ I fell last weekend. ~ 2026-05-09 ~ 2026-05-10 ~ event back
tuned ~ english ~ 2026-05-13T10:00 ~ I fell yesterday. ~ 2026-05-11 ~ 2026-05-11 ~ event back
tuned ~ german ~ 2026-05-13T10:00 ~ Das war gestern. ~ 2026-05-12 ~ 2026-05-12 ~ relative
tuned ~ english ~ 2026-05-13T10:00 ~ The bread is brown. ~ 2026-05-12 ~ 2026-05-12 ~ relative
tuned ~ english ~ 2026-05-13T10:00 ~ The bread is brown. ~ ~ ~ none
held out ~ english ~ 2026-05-13T10:00 ~ I saw a quetzal yesterday. ~ ~ ~ none""",
    "facts": """\
half ~ language ~ case ~ said ~ speaker ~ sentence ~ facts
tuned ~ english ~ cased ~ 2026-05-13T10:00 ~ Ada ~ I live in Leeds. ~ home; user; Leeds
tuned ~ english ~ cased ~ 2026-05-13T10:00 ~ Ada ~ I live in Leeds. ~ home; user; Porto
tuned ~ english ~ cased ~ 2026-05-13T10:00 ~ Ada ~ I no longer work at Siemens. ~ ended; user; Siemens
tuned ~ english ~ lower ~ 2026-05-13T10:00 ~ Ada ~ the bread is brown ~ home; user; Leeds
held out ~ german ~ cased ~ 2026-05-13T10:00 ~ Ada ~ Ich wohne in Quetzal. ~ home; user; Jena""",
    "statements": """\
half ~ language ~ class ~ case ~ said ~ speaker ~ sentence ~ facts ~ also ~ forbidden
tuned ~ english ~ change ~ cased ~ 2026-05-13T10:00 | 2026-06-20T10:00 ~ Ada ~ I live in Leeds. | I live in Porto. ~ home; user; Porto ~ ended; user; Leeds ~ home; user; Leeds
tuned ~ english ~ plain ~ cased ~ 2026-05-13T10:00 ~ Ada ~ My sister is called Clara. ~ ~ family; user; Clara ~ family; user; Ada
tuned ~ english ~ nothing ~ cased ~ 2026-05-13T10:00 ~ Ada ~ I live in Leeds. ~ ~ ~ home; user; Leeds
tuned ~ english ~ nothing ~ cased ~ 2026-05-13T10:00 ~ Ada ~ The bread is brown. ~ ~ ~ likes; user; bread
held out ~ english ~ nothing ~ cased ~ 2026-05-13T10:00 ~ Ada ~ I live in Quetzal. ~ ~ ~ home; user; Quetzal""",
    "traps": """\
half ~ language ~ case ~ sentence ~ forbidden
tuned ~ english ~ cased ~ If I lived in Rome, I would eat ice cream. ~ lives, Rome
tuned ~ english ~ cased ~ I live in Rome. ~ lives, Rome
held out ~ english ~ cased ~ I live in Quetzal. ~ lives, Quetzal""",
    "entities": """\
half ~ type ~ first ~ second ~ same
tuned ~ person ~ Clara Smith ~ Clara Smith ~ 1
tuned ~ person ~ Clara Smith ~ Tom Baker ~ 0
tuned ~ person ~ Clara Smith ~ Tom Baker ~ 1
tuned ~ place ~ York ~ York ~ 0
held out ~ place ~ Quetzal ~ Quetzal ~ 0""",
    "misheard": """\
half ~ language ~ said ~ heard ~ name ~ misheard
tuned ~ english ~ Isaura is coming for dinner. ~ What do you know about Ysaura? ~ Isaura ~ Ysaura
tuned ~ english ~ Kowalczyk was here. ~ What is the capital of Peru? ~ Kowalczyk ~ capital
held out ~ english ~ Marta was here. ~ What is the quetzal of Peru? ~ Marta ~ quetzal""",
    "ordinary": """\
half ~ language ~ said ~ name ~ question ~ word
tuned ~ english ~ Isaura is coming for dinner. ~ Isaura ~ What is the capital of Peru? ~ capital
tuned ~ english ~ Isaura is coming for dinner. ~ Isaura ~ When does Ysaura arrive? ~ Ysaura
held out ~ english ~ Isaura met a quetzal. ~ Isaura ~ Does Ysaura like the quetzal? ~ Ysaura""",
    "recall_stores": """\
half ~ language ~ store ~ at ~ who ~ text
tuned ~ english ~ a ~ 2026-05-04T19:00 ~ user ~ My dog Max loves chasing squirrels.
tuned ~ english ~ a ~ 2026-05-04T19:01 ~ agent ~ That sounds fun.
tuned ~ english ~ a ~ 2026-05-05T19:00 ~ user ~ The car needs new tyres before the winter.
held out ~ english ~ b ~ 2026-05-04T19:00 ~ user ~ My locker code is 4411, says the quetzal.""",
    "recall": """\
half ~ language ~ store ~ kind ~ question ~ answer ~ old
tuned ~ english ~ a ~ literal ~ What does my dog Max love? ~ My dog Max loves chasing squirrels. ~
tuned ~ english ~ a ~ literal ~ What does my dog Max love? ~ That sounds fun. ~
tuned ~ english ~ a ~ unknown ~ What does my dog Max love? ~ ~
held out ~ english ~ b ~ unknown ~ What is my locker code? ~ ~""",
}


def write(folder: Path, lists: dict[str, str] | None = None) -> Path:
    """Write lists as tab-separated files, below a comment."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (LISTS if lists is None else lists).items():
        lines = ("\t".join(cell.strip() for cell in line.split("~")) for line in text.splitlines())
        (folder / f"{name}.tsv").write_text("\n".join(("# own sentences", *lines)) + "\n", "utf-8")
    return folder
