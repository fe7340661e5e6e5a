"""An LLM that knows the truth of a life, and writes it in answer to the product's prompts."""
class TruthfulLLM:
    pass
