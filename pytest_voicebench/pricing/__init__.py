"""What conversations cost: dated prices, usage times price, an estimate before the first call, a limit that holds."""
