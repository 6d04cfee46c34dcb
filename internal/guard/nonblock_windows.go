package guard

// nonblock is nothing on Windows, where paths name no pipes that block.
const nonblock = 0
