"""All cases of the Triton tests."""

import matrix_cases
import vector_cases

CASES = matrix_cases.CASES + vector_cases.CASES
