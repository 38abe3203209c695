fn main() {
    for c in asb_types::crd::crds() {
        println!("{}", serde_json::to_string_pretty(&c).unwrap());
        eprintln!("{} {}", c["metadata"]["name"], c.to_string().len());
    }
}
