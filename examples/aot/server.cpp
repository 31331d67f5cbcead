// A server: one model, several threads, and one queue of requests. Each thread has a context and a state of its own.
//
// A request is a sequence of frames. The GRU keeps its hidden state between frames, so two sequences that share a state
// would mix. The main thread sends the requests, and compares the answers with those of one thread.
#include <algorithm>
#include <condition_variable>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <queue>
#include <random>
#include <thread>

#include "gru.hpp"

constexpr size_t INPUTS = 8, THREADS = 4, REQUESTS = 200;

using Sequence = std::vector<float>; // frames, one after the other
using Scores = std::vector<float>;

struct Request {
    Sequence frames;
    std::promise<Scores> answer;
};

class Queue {
public:
    void push(Request request)
    {
        std::lock_guard lock(mutex_);
        requests_.push(std::move(request));
        changed_.notify_one();
    }
    void close()
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    std::optional<Request> pop() // waits; nothing if the queue is closed and empty
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !requests_.empty(); });
        if (requests_.empty()) return std::nullopt;
        std::optional<Request> first(std::move(requests_.front()));
        requests_.pop();
        return first;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<Request> requests_;
    bool closed_ = false;
};

Scores run(gru::Context &context, gru::State &state, const Sequence &frames)
{
    Scores scores;
    state.reset(); // an earlier sequence may have ended anywhere, or by an error
    for (size_t at = 0; at < frames.size(); at += INPUTS) {
        auto width = static_cast<int64_t>(std::min(INPUTS, frames.size() - at));
        scores = context.forward(state, gru::View(&frames[at], {1, width})).values<float>();
    }
    return scores;
}

void serve(const gru::Model &model, Queue &queue)
{
    gru::Context context(model);
    gru::State state(model);
    while (auto request = queue.pop()) {
        try {
            request->answer.set_value(run(context, state, request->frames));
        } catch (...) { // the error is the answer, and the thread goes on
            request->answer.set_exception(std::current_exception());
        }
    }
}

int main(int argc, char **argv)
try {
    gru::Model model(argc > 1 ? argv[1] : "gru/gru.safetensors");
    std::mt19937 random(0);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<Sequence> sequences(REQUESTS);
    for (Sequence &frames : sequences) {
        frames.resize(INPUTS * (1 + random() % 50));
        for (float &value : frames) value = values(random);
    }
    sequences.back().pop_back(); // its last frame is too short

    Queue queue;
    std::vector<std::future<Scores>> answers;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < THREADS; i++) threads.emplace_back([&] { serve(model, queue); });
    for (const Sequence &frames : sequences) {
        Request request{frames, {}};
        answers.push_back(request.answer.get_future());
        queue.push(std::move(request));
    }
    queue.close();
    for (std::thread &thread : threads) thread.join();

    gru::Context context(model);
    gru::State state(model);
    size_t equal = 0, errors = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
        try {
            equal += answers[i].get() == run(context, state, sequences[i]);
        } catch (const gru::Error &error) {
            errors++;
            std::cout << "request " << i << ": " << error.what() << "\n";
        }
    }
    std::cout << equal << " answers of " << THREADS << " threads are those of one thread, " << errors << " is an error\n";
    return equal + errors == REQUESTS ? 0 : 1;
} catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
}
