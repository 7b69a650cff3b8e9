@main
struct Sink {
    static func main() {}
}
