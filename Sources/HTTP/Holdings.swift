/// What one connection has taken of each budget.
struct Holdings {
    /// Of the budget of bodies: the body that is read.
    var body = 0
    /// The same for pipelined requests that wait between turns.
    var waiting = 0
    var head = 0
    var answer = 0
    /// Room for an answer that was taken before the answer was promised.
    var reserved: ByteShare?
}
