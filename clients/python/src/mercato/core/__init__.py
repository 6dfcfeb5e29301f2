"""The logic of the client, without input and output: generators that say what they need and go on with the reply.

A face (`mercato.client`, `mercato.async_client`) runs them with a driver. Both faces run the same generators.
"""
