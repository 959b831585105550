"""The shared record: contract, front doors, and the backends behind them."""
