namespace rpcrdma::soft {}
