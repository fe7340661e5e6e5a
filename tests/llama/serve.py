"""A llama.cpp server on loopback, as a process of its own: ``python serve.py MODEL``.

It says where it listens, on a free port, and ends when its standard input does, so that none is left behind.
"""

import sys

import xllamacpp


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx, parameters.n_parallel = 8192, 2  # two slots, of 4,096 tokens each
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.endpoint_slots, parameters.warmup = True, False
    parameters.model_alias = {"tiny"}
    server = xllamacpp.Server(parameters)
    print("ready", server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
