/* cpp_gpt.cpp - a small GPT in C++: characters of a text, decoder blocks, a
 * loop of one's own with clipping and a cosine schedule, sampling.
 *
 *   cpp_gpt [steps] */
#include <burn/nn.hpp>
#include <burn/train.hpp>

#include <iostream>

#include "arguments.hpp"

using burn::Device, burn::Tensor;
namespace nn = burn::nn;
namespace train = burn::train;
constexpr std::size_t window = 32, width = 64, heads = 4, depth = 2, batch = 16;
static const std::string rhyme =
    "twinkle, twinkle, little star, how i wonder what you are! "
    "up above the world so high, like a diamond in the sky. ";

struct Block {
  nn::LayerNorm norm_1, norm_2;
  nn::MultiHeadAttention attention;
  nn::PositionWiseFeedForward feed;

  explicit Block(const Device &device)
      : norm_1(width, device),
        norm_2(width, device),
        attention(width, heads, device),
        feed(width, 4 * width, device) {}

  Tensor operator()(Tensor x) const {
    x = x + attention.self(norm_1(x), true);
    return x + feed(norm_2(x));
  }

  BURN_CPP_MODULE(Block, norm_1, norm_2, attention, feed)
};

struct Gpt {
  nn::Embedding tokens;
  nn::PositionalEncoding positions;
  burn::ModuleList<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  Gpt(std::size_t letters, const Device &device)
      : tokens(letters, width, device),
        positions(width, device),
        blocks(depth, [&](std::size_t) { return Block(device); }),
        norm(width, device),
        head(width, letters, device) {}

  /* [batch, steps] -> [batch, steps, letters] */
  Tensor operator()(Tensor ids) const {
    Tensor x = positions(tokens(std::move(ids)));
    for (const Block &block : blocks) x = block(std::move(x));
    return head(norm(std::move(x)));
  }

  BURN_CPP_MODULE(Gpt, tokens, positions, blocks, norm, head)
};

/* Writes on after `seen`, [1, window], at a temperature of a half. */
static void sample(const Gpt &model, Tensor seen, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    const Tensor logits = model(seen).narrow(1, window - 1, 1).flatten(0, 1);
    const Tensor next = (logits / 0.5).softmax(1).categorical(1);
    std::cout << next.item<char>();
    seen = Tensor::cat({seen.narrow(1, 1, window - 1), next}, 1);
  }
  std::cout << "\n";
}

int main(int argc, char **argv) try {
  if (!begin_program(argc, argv, "cpp_gpt [STEPS]")) return 0;
  const std::size_t steps = argc > 1 ? count_of("steps", argv[1]) : 300;
  Device device = Device::training();
  device.seed(42);
  const std::vector<std::int64_t> text(rhyme.begin(), rhyme.end());
  const Tensor all = Tensor(device, text, {std::int64_t(text.size())})
                         .unfold(0, window + 1, 1);
  Gpt model(128, device);
  train::AdamW adam(train::AdamWConfig().clipping(BURN_CLIP_GLOBAL_NORM(1)));
  const train::CosineAnnealing rate(3e-3, steps);
  for (std::size_t step = 0; step < steps; step++) {
    const Tensor items = all.select(
        0, Tensor::uniform(device, {batch}, 0, all.dim(0), BURN_DTYPE_I64));
    const Tensor logits = model(items.narrow(1, 0, window)).flatten(0, 1);
    const Tensor next = items.narrow(1, 1, window).flatten(0, 1);
    const Tensor loss = logits.cross_entropy(next);
    if (step % 50 == 0 || step + 1 == steps)
      std::cout << "step " << step << "  loss " << loss.item() << std::endl;
    adam.step(model, loss, rate(step));
  }
  sample(model.valid(), all.narrow(0, 0, 1).narrow(1, 0, window).inner(), 80);
} catch (const std::exception &error) {
  std::cerr << "cpp_gpt: " << error.what() << "\n";
  return 1;
}
