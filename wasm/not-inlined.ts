/** Inner loops, exported only so that the compiler does not inline them: inside large functions they run out of registers. */
export { scoreQuantized } from './quantized'
export { dotsFourByTwo } from './quantized-rows'
export { scoreRowsByEight, scoreRowsByFour } from './score-rows'
