"""An engine that knows some pets."""

from tests.support.memories import engine_remembering
from tests.support.processors import PETS

engine = engine_remembering({40: PETS, 3: ["Anna: My dog has a red collar."]})
