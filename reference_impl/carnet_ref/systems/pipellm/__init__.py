"""PipeLLM: a runtime that encrypts pages before they are asked for, and a GPU that counts messages by itself."""
