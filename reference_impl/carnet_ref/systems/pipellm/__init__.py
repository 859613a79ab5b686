"""PipeLLM: a runtime that encrypts pages before they are asked for, and a GPU with its own message counter."""
