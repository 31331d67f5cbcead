// Runs the RNN on five steps of ones, for a batch of two, and catches an error. All memory has owners.
#include <iostream>

#include "rnn.hpp"

int main(int argc, char **argv)
try {
    rnn::Model model(argc > 1 ? argv[1] : "rnn/rnn.safetensors");
    rnn::Context context(model);

    std::vector<float> ones(2 * 16, 1.0f);
    rnn::View x(ones.data(), {2, 16});
    rnn::Tensor h = context.forward({&x, &x, &x, &x, &x});
    std::cout << "[" << h.shape()[0] << ", " << h.shape()[1] << "], first element " << h.values<float>()[0] << "\n";

    try {
        context.forward({}); // a list without steps
    } catch (const rnn::Error &error) {
        std::cout << error.what() << "\n"; // error.type(), error.file() and error.line() are its parts
    }
} catch (const std::exception &error) { // weights that are missing or damaged, memory that ends
    std::cerr << error.what() << "\n";
    return 1;
}
