"""Who plays the customer: users, the contract they keep, and how they are made."""
