"""Twenty varied prompts for comparing greedy texts: greedy_parity.py, greedy_sim.py."""

PROMPTS = [
    "What is the capital of France?",
    "Write a short story about a cat who learns to swim.",
    "Explain how photosynthesis works to a ten-year-old.",
    "def fibonacci(n):\n    ",
    "The three laws of thermodynamics are",
    "Translate to German: The weather is nice today.",
    "List five fruits, one on each line.",
    "Once upon a time, in a village by the sea,",
    "What is 17 times 23? Think step by step.",
    "SELECT name, age FROM users WHERE",
    "Dear Sir or Madam,\n\nI am writing to",
    "Why is the sky blue?",
    "The quick brown fox jumps over the lazy dog. The",
    "Give me a recipe for pancakes with exact amounts.",
    "In 1969, Neil Armstrong",
    "import numpy as np\n\nx = np.",
    "Summarise: The committee met on Tuesday, discussed the budget, and agreed to meet again in March.",
    "¿Cuál es la capital de España?",
    "Name a number between one and ten and say why you chose it.",
    "To be, or not to be, that is the question:",
]
