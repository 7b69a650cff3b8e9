@main
struct Floor {
    static func main() {}
}
