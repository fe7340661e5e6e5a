from benchmarks import prefix
from slowcat_memory.core.render.memory_block import instruction

TALK = [("Hello there", "Hi"), ("How are you", "Fine"), ("Good", "Bye")]
BLOCK = "<memories>\n- (today) Ada: a line that is remembered\n</memories>"


def requests(system="Be kind.", blocks=("", "", "")):
    """What a client sends that keeps everything, with a block before some of the user's words."""
    made, messages = [], [{"role": "system", "content": system}]
    for (said, answer), block in zip(TALK, blocks, strict=True):
        words = f"{block}\n\n{said}" if block else said
        messages.append({"role": "user", "content": words})
        made.append(list(messages))
        messages.append({"role": "assistant", "content": answer})
    return made


def test_prefix_a_prompt_that_only_grows_is_never_broken():
    taken = list(prefix.steps(requests(), TALK))
    assert len(taken) == 2 and not any(step.broken for step in taken)
    assert all(step.new == step.new_words and not step.block for step in taken)
    assert taken[0].new < 30  # the words and the frame of one message, not the conversation


def test_prefix_a_block_inside_the_new_message_costs_itself_alone():
    plain = list(prefix.steps(requests(), TALK))
    ours = list(prefix.steps(requests(f"Be kind. {instruction()}", ("", BLOCK, BLOCK)), TALK))
    assert [step.new_words for step in ours] == [step.new_words for step in plain]
    assert all(step.block > 0 and not step.broken for step in ours)
