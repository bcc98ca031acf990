"""Whether an agent can be tested at all: five short conversations, and what each of them shows."""
