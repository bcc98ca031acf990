"""A judge, optional: a language model asked after a run, whose verdicts stand beside the scores and change none."""
